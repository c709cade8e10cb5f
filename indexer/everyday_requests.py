"""Requests of all walks of life, written for this project: what people ask that most catalogs cannot serve.

An index is calibrated with them (`calibration.py`): how near its tools come to requests that were not made for it.
They are many subjects on purpose, home and office and machine room alike, because no catalog serves all of them; the
few it does serve are the outliers that calibration leaves aside. `EVERYDAY_VERSION` changes with the list.
"""

from __future__ import annotations

from typing import Final

EVERYDAY_VERSION: Final = "everyday-1"

_HOME = """
How long should I boil eggs so that the yolk stays soft?
Remind me to water the tomatoes on the balcony every second evening.
What can I cook with leeks, half a cabbage and some leftover rice?
The washing machine shakes during the last spin, what should I check first?
Find a babysitter near us for Friday night.
How do I get candle wax out of a wool carpet?
Plan a birthday party for fifteen six-year-olds in a small flat.
Which paint is right for a damp bathroom ceiling?
My cat has stopped eating her dry food, should I worry?
Turn down the heating in the bedroom to eighteen degrees after ten.
Order two bags of the same dog food as last month.
Write a shopping list for a week of vegetarian dinners for four.
How do I sharpen a kitchen knife on a wet stone?
Is it safe to keep bleach under the kitchen sink with small children around?
When should I prune an old apple tree?
What is a fair price for a used piano from the eighties?
Help me choose names for twins, one of them Irish.
The bread I bake stays flat, what am I doing wrong?
Suggest a bedtime story about a brave snail.
How many square metres of wallpaper do I need for this room?
""".strip()

_TRAVEL = """
Book the cheapest train from Lyon to Marseille for tomorrow morning.
Do I need a visa to stay three weeks in Vietnam?
Find me a quiet hotel near the old harbour with parking.
What time does the last ferry to the island leave on Sundays?
My suitcase did not arrive, how do I claim damages from the airline?
Compare rental cars at Lisbon airport for the second week of May.
Which museums in Vienna are free on the first Sunday of the month?
How much should I tip in Japan?
Plan a four day hike in the Dolomites with huts for the night.
Is the motorway over the pass open today?
Change my seat on the flight to an aisle.
What vaccinations do I need for Tanzania?
Find a campsite by the lake that takes dogs.
Tell me a good place for oysters in Galway.
How far is it by bicycle from Ghent to Bruges along the canal?
What is the exchange rate for Czech crowns at the airport?
Translate my allergy to peanuts into Thai so I can show it to the waiter.
Which side of the plane has the better view when landing in Innsbruck?
""".strip()

_BODY = """
I have had a headache behind my left eye for three days, what could it be?
How many calories are in a bowl of lentil soup?
Make me a training plan for a first half marathon in twelve weeks.
Which stretches help against a stiff lower back after sitting?
Book an appointment with the dentist for a check-up next month.
Can I take ibuprofen together with a blood thinner?
Track how many glasses of water I drink today.
What is a normal resting pulse for a forty year old?
My daughter has a fever of thirty-nine, when do we go to the hospital?
Recommend an audiobook to fall asleep to.
Explain what the values in my blood test mean.
How do I stop biting my nails?
Find a yoga class for beginners on Tuesday evenings.
Which glasses suit a round face?
How long does a sprained ankle need before I can run again?
""".strip()

_MONEY = """
How much tax do I pay if I sell my flat after eight years?
Transfer fifty euros to my sister for the concert tickets.
Is it better to pay off the loan early or to invest the money?
Split last night's bill between six people, two of whom only had drinks.
What did the central bank decide about interest rates this week?
Cancel my subscription to the film magazine.
Write a letter to the landlord asking for a lower rent.
How do I insure an engagement ring?
Show the closing price of copper for the last five days.
What documents do I need to apply for a mortgage?
Draft an invoice for eight hours of garden work.
Which pension scheme makes sense for a freelancer?
Find out whether this charity is registered.
Compare electricity tariffs for a household of three.
How do I dispute a charge on my credit card?
Who pays for the broken window, me or my neighbour's insurance?
""".strip()

_CULTURE = """
Who wrote the song that plays at the end of that film about the whaling ship?
Play something calm with a lot of cello.
Explain the offside rule to somebody who has never seen football.
What are the opening hours of the city library on Saturdays?
Recommend three novels set in nineteenth-century Lisbon.
When is the next solar eclipse visible from Spain?
Write a limerick about a bishop and a bicycle.
Which films by Kurosawa are in black and white?
Summarise the plot of the Odyssey in five sentences.
Who won the chess world championship in 1972?
Give me chords for a simple blues in E.
What is the difference between baroque and rococo?
Find tickets for the opera on New Year's Eve.
Draw a fox wearing a raincoat in watercolour.
Quiz me on the capitals of South America.
How do you play the card game cribbage?
Tell me a joke that works at a wedding.
Which painter cut off his ear and why?
What did people in ancient Rome have for breakfast?
Name a board game for two players that takes under an hour.
""".strip()

_SCHOOL = """
Help me understand why the seasons are reversed in Australia.
Solve the equation x squared minus five x plus six equals zero.
Explain photosynthesis to a ten year old.
Correct the grammar in my essay about the French Revolution.
What is the chemical formula of table salt?
How do I cite a web page in a thesis?
Make flash cards for the irregular verbs in German.
Prove that there are infinitely many prime numbers.
What is the longest river in Asia?
Convert three quarters of a mile into metres.
Find the area of a triangle with sides seven, eight and nine.
Who was on the throne of England during the Great Fire of London?
Why does ice float on water?
What is the probability of rolling two sixes in a row?
Suggest a topic for a biology project about insects.
Translate this sentence from Latin for me.
What does the word serendipity mean and where does it come from?
Which university in Scotland is oldest?
Write an outline for a talk on renewable energy.
How does a vaccine train the immune system?
""".strip()

_WORK = """
Write a friendly reminder to a client who has not paid yet.
Find a time next week when all five of us are free for an hour.
Summarise the minutes of yesterday's meeting in three bullet points.
Prepare me for an interview as a project manager.
Translate the contract into Polish and keep the numbering.
Make a chart of sales per region from this spreadsheet.
Draft a job advertisement for a part-time bookkeeper.
How do I give honest feedback to a colleague who is often late?
Book the large meeting room for Thursday afternoon.
Turn these notes into a polite email to the supplier.
Which form do I need to register a small company?
Create a slide with our three goals for next year.
What is the notice period for an employee after six years?
Send the signed agreement to the lawyer.
Remind the team to hand in their time sheets.
How should I answer a bad review of our restaurant?
Rewrite my profile so that it sounds less boastful.
Order business cards on thick paper.
Record that I worked from home on Monday.
Find a caterer for sixty guests with a vegan menu.
""".strip()

_TOWN = """
Will it rain at the lake this afternoon?
Report a broken street lamp in our road.
Where is the nearest chemist that is open on a Sunday night?
When is paper waste collected in my street?
How do I apply for a resident's parking permit?
Call me a taxi to the station for half past six.
Which buses go to the hospital from the market square?
Are there any police reports about the accident on the ring road?
Find a plumber who can come today.
Is the swimming pool heated in winter?
Register my son for the kindergarten in our district.
Who is my representative in parliament?
How loud may a neighbour's party be after midnight?
What is the air quality in the city centre right now?
Where can I have my bicycle repaired while I wait?
Find houses for sale with a garden and three bedrooms.
Track the parcel that was due yesterday.
Which dog breeds must wear a muzzle in this town?
Send flowers to my mother on Sunday.
Vote for the best bakery in the county.
""".strip()

_MACHINE_ROOM = """
Restart the web server on the staging machine and show me the last hundred log lines.
Compress this folder and leave out everything larger than ten megabytes.
Why does my container exit with code 137?
Rotate the access key of the backup account.
Rename all files in the folder so that they begin with the date.
Add a column for the customer's birthday to the database table.
Show which process is listening on port 8080.
Create a branch, cherry-pick the fix and open a pull request.
Scale the cluster to five nodes during the night.
Write a unit test for the function that parses dates.
How do I undo my last commit without losing the changes?
Issue a certificate for the new subdomain.
Convert this video to a smaller size without losing the subtitles.
Mount the network drive read-only.
Which virtual machines have not been used for a month?
Set an alarm when the queue holds more than a thousand messages.
Explain this regular expression.
Block the address that keeps trying to log in.
Restore the table to the state of yesterday noon.
Print the disk usage of each home directory.
Translate this Python script into Rust.
Deploy the new version to ten per cent of the users first.
List the people who have administrator rights.
Check whether the backup of last night can be read.
Resize all pictures in this folder to eight hundred pixels.
Merge these three PDF files into one.
Install the printer driver on my laptop.
The wireless network drops every few minutes, help me find out why.
Schedule a job that runs every weekday at seven.
Encrypt the file with my colleague's public key.
""".strip()

_TALK = """
Good morning, how are you?
Thank you, that was very helpful.
Who are you and who made you?
Never mind, forget what I said.
Can you say that again in simpler words?
I feel a bit lonely today.
What do you think about modern art?
Please stop.
Are you able to keep a secret?
Let us talk about something else.
Congratulate my friend on passing her driving test.
I do not agree with you.
What is the meaning of life?
Say something that will cheer me up.
Yes, go ahead.
That is not what I asked for.
How would you explain love to a robot?
Do you dream?
Wish me luck for tomorrow.
I am bored, entertain me.
""".strip()

_WORKSHOP = """
What torque do the wheel bolts of a small van need?
Find the wiring diagram for a 1992 tractor.
Calculate how much concrete a round foundation of two metres needs.
Which glue holds polypropylene?
Measure the humidity in the cellar for a week and plot it.
The drone drifts to the left, how do I calibrate it?
How thick must a shelf of oak be to carry fifty kilos?
Print a replacement knob for the oven on the 3D printer.
Open the garage door.
Which fuse protects the cigarette lighter?
Plan the irrigation of forty olive trees.
Estimate the yield of a field of barley after the hail.
Identify the bird that sings outside my window at four in the morning.
How do I descale an espresso machine with a steam boiler?
Start the vacuum robot in the corridor.
Which bolts are missing from the box of the wardrobe?
When is high water in Saint-Malo tomorrow?
Which fungi in this basket can be eaten?
What is the boiling point of ethanol at two thousand metres?
Predict how long the battery of the scooter will last in the cold.
""".strip()

_LAW_AND_SCIENCE = """
May my employer read my private messages?
Find recent studies about sleep and memory in older people.
What happens to a house when somebody dies without a will?
Describe the crystal structure of quartz.
Which genes are linked to lactose tolerance?
Simulate the orbit of a satellite at five hundred kilometres.
Draft a non-disclosure agreement between two small firms.
How is a patent different from a trademark?
Look up the half-life of caesium 137.
What does the treaty say about fishing within twelve miles?
Compare two proteins and highlight where they differ.
How many species of beetle are known?
Object to a parking fine in writing.
Which court is responsible for a dispute with a tenant?
Compute the eigenvalues of a three by three matrix.
What is the population density of Bangladesh?
Explain how a nuclear power station cools its reactor.
Which telescope took this picture of the nebula?
Find a mediator for a quarrel between neighbours.
What is the current scientific view on dark matter?
""".strip()

_SHOP = """
Where can I buy rain boots in size thirty-one?
Return the jacket, it is too small.
Which phone under three hundred euros has the best camera?
Is this coupon still valid?
Find a second-hand bicycle for a tall woman.
How do I wash a down jacket?
Compare the two vacuum cleaners in my basket.
Notify me when the price of the headphones drops.
What does a size ten dress correspond to in Italy?
Gift ideas for a grandfather who has everything.
Cancel the order I placed an hour ago.
When will the blue sofa be back in stock?
Leave a review of four stars for the kettle.
Which of these sun creams is safe for reefs?
Find a recipe for the curry they serve at the canteen.
""".strip()

EVERYDAY_REQUESTS: Final[tuple[str, ...]] = tuple(
    line
    for subject in (
        _HOME,
        _TRAVEL,
        _BODY,
        _MONEY,
        _CULTURE,
        _SCHOOL,
        _WORK,
        _TOWN,
        _MACHINE_ROOM,
        _TALK,
        _WORKSHOP,
        _LAW_AND_SCIENCE,
        _SHOP,
    )
    for line in subject.split("\n")
)
