"""The two runs of the demo, turn by turn: an audit by a reader and a clean-up by an operator.

The names of the calls are what `demo.points` asks about afterwards.
"""

from __future__ import annotations

from demo.application import OPERATOR, READER
from demo.script import Script, Turn, Wish

SEARCH_TOOL = "search_tools"
INACTIVE_TOOL = "rds_describe_db_instances"
"""A tool of the reader that no search of the audit finds."""
OPERATORS_TOOL = "s3_delete_bucket"
"""A tool that the operator has and the reader has not."""
BUCKET = "holiday-photos"

AUDIT = Script(
    name="audit",
    run_id="audit-1",
    surface=READER,
    desk="storage",
    asks="Are any of my buckets open to the world? And tell me which databases we run.",
    turns=(
        Turn(
            says="I list the buckets, and look for a tool that knows who can read them.",
            wishes=(
                Wish(name="pinned", choices=[("s3_list_buckets", {})]),
                Wish(name="search", choices=[(SEARCH_TOOL, {"query": "which of my buckets are public?"})]),
            ),
        ),
        Turn(
            says="That is the one.",
            # The field is called Bucket: the tool's own input model has to refuse this.
            wishes=(Wish(name="rejected", choices=[("s3_get_bucket_policy_status", {"bucket": BUCKET})]),),
        ),
        Turn(
            says="The field has a capital.",
            wishes=(Wish(name="direct", choices=[("s3_get_bucket_policy_status", {"Bucket": BUCKET})]),),
        ),
        Turn(
            says="Public. I delete it, and look at the databases meanwhile.",
            wishes=(
                Wish(name="unknown", choices=[(OPERATORS_TOOL, {"Bucket": BUCKET})]),
                Wish(name="inactive", choices=[(INACTIVE_TOOL, {})]),
            ),
        ),
        Turn(
            says="I cannot delete anything here. The databases, then.",
            wishes=(Wish(name="killed", choices=[(INACTIVE_TOOL, {})]),),
        ),
        Turn(says=f"{BUCKET} is public; I may look, but not change it. The databases are listed above."),
    ),
)

CLEANUP = Script(
    name="cleanup",
    run_id="cleanup-1",
    surface=OPERATOR,
    desk="operations",
    asks="Stop the machines nobody uses, then throw away old database snapshots.",
    turns=(
        Turn(
            says="I look for a way to stop machines.",
            wishes=(Wish(name="search", choices=[(SEARCH_TOOL, {"query": "stop the machines nobody uses"})]),),
        ),
        Turn(
            says="Stopping them.",
            wishes=(
                Wish(
                    name="killed",
                    choices=[
                        ("ec2_stop_instances", {"InstanceIds": ["i-0a1b2c3d4e5f60718"]}),
                        ("ecs_stop_task", {"task": "nightly-report"}),
                        ("rds_stop_db_instance", {"DBInstanceIdentifier": "staging"}),
                    ],
                ),
            ),
        ),
        Turn(
            says="That may have happened or not; I leave it to a person. Now the snapshots.",
            wishes=(Wish(name="late", choices=[(SEARCH_TOOL, {"query": "delete old database snapshots"})]),),
        ),
        Turn(says="Please check whether the machine has stopped. I know how to delete snapshots now."),
    ),
)

REQUIRED_SERVICES = ("cloudwatch", "rds", "s3", "sts")
"""What the two runs call, pin or keep always on."""
