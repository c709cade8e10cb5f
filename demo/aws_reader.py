"""Which AWS operations the `reader` identity may hold: those that cannot change anything and hand out no secret.

The verb decides: an operation reads if its name begins with one of `READING_VERBS` (after ``batch_`` or
``transact_``, the word behind it). Both ways there are exceptions, each with its reason. When in doubt an operation
does not read: ``sqs_receive_message`` hides what it returns from everybody else, ``logs_start_query`` starts work
that is paid for, ``kms_decrypt`` opens secrets; their verbs keep them out without an exception.

Not done here: authorization. The reader surface makes the other tools unknown to the agent; what an identity may do
at AWS is decided by AWS.
"""

from __future__ import annotations

from collections.abc import Mapping

READING_VERBS = frozenset({"describe", "filter", "get", "head", "list", "lookup", "query", "scan", "search", "select"})
"""Verbs that AWS gives to operations that only read."""

_PLURAL_PREFIXES = frozenset({"batch", "transact"})

NOT_FOR_THE_READER: Mapping[str, str] = {
    "ec2_describe_vpn_connections": "its answer holds the pre-shared keys of the tunnels",
    "ec2_get_console_screenshot": "can wake the instance by a key press (WakeUp)",
    "ec2_get_flow_logs_integration_template": "writes a template into a bucket",
    "ec2_get_password_data": "hands out the administrator's password",
    "ec2_get_vpn_connection_device_sample_configuration": "its answer holds the pre-shared keys of the tunnels",
    "kms_get_parameters_for_import": "hands out a token that allows to import key material",
    "secretsmanager_batch_get_secret_value": "hands out secrets",
    "secretsmanager_get_random_password": "hands out a password",
    "secretsmanager_get_secret_value": "hands out secrets",
    "ssm_get_access_token": "hands out credentials",
    "ssm_get_deployable_patch_snapshot_for_instance": "makes a snapshot of the baseline and a link to download it",
    "ssm_get_parameter": "hands out secrets (SecureString)",
    "ssm_get_parameter_history": "hands out secrets (SecureString)",
    "ssm_get_parameters": "hands out secrets (SecureString)",
    "ssm_get_parameters_by_path": "hands out secrets (SecureString)",
    "stepfunctions_get_activity_task": "takes a task out of its queue, and hands out its token",
    "sts_get_delegated_access_token": "hands out credentials",
    "sts_get_federation_token": "hands out credentials",
    "sts_get_scoped_credentials": "hands out credentials",
    "sts_get_session_token": "hands out credentials",
    "sts_get_web_identity_token": "hands out a token that proves who the caller is",
}
"""Operations whose verb reads but that do more, or hand out what a reader must not hold; the value says why."""

READING_ALL_THE_SAME: Mapping[str, str] = {
    "cloudformation_validate_template": "checks a text",
    "events_test_event_pattern": "matches one text against another",
    "iam_simulate_custom_policy": "evaluates policies, performs nothing",
    "iam_simulate_principal_policy": "evaluates policies, performs nothing",
    "logs_test_metric_filter": "matches one text against another",
    "route53_test_dns_answer": "answers what DNS would answer",
    "sns_check_if_phone_number_is_opted_out": "answers yes or no",
}
"""Operations whose verb says nothing but that change nothing; the value says why."""


def only_reads(name: str, *, service: str) -> bool:
    """Whether the operation `name` (``ec2_describe_instances``) of `service` is one for the reader."""
    if name in NOT_FOR_THE_READER:
        return False
    verb, _, behind = name.removeprefix(f"{service}_").partition("_")
    if verb in _PLURAL_PREFIXES:
        verb = behind.partition("_")[0]
    return verb in READING_VERBS or name in READING_ALL_THE_SAME
