"""Mutation-based fuzzing of whatever reads text from outside: receipts, and the transcripts of each dialect.

    python -m fuzz [--seconds 600] [--target receipt|anthropic|openai-chat|openai-responses|all] [--seed N]

Each input is made from (seed, target, number) alone, so one number replays one input. The only outcomes allowed are a
value or the one error type, within bounded time.
"""
