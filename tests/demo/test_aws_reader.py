"""The line between the reader and the operator, from both sides."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from demo.aws_models import service_description
from demo.aws_operations import AwsOperation
from demo.aws_reader import NOT_FOR_THE_READER, READING_ALL_THE_SAME, READING_VERBS, only_reads

Catalog = Mapping[str, AwsOperation]

READS = """
    cloudformation_batch_describe_type_configurations cloudformation_describe_stacks cloudfront_list_distributions
    cloudwatch_get_metric_data dynamodb_batch_get_item dynamodb_get_item dynamodb_query dynamodb_scan
    dynamodb_transact_get_items ec2_describe_instances ec2_search_transit_gateway_routes ecs_list_tasks
    eks_describe_cluster events_list_rules iam_get_user iam_simulate_principal_policy kms_describe_key
    lambda_list_functions logs_filter_log_events rds_describe_db_instances route53_list_hosted_zones
    s3_get_bucket_policy_status s3_get_object s3_head_object s3_list_buckets s3_select_object_content
    secretsmanager_list_secrets sns_list_topics sqs_get_queue_attributes ssm_describe_parameters
    stepfunctions_list_executions sts_get_caller_identity
""".split()

CHANGES = """
    cloudformation_detect_stack_drift cloudfront_create_invalidation cloudwatch_put_metric_data
    dynamodb_batch_write_item dynamodb_execute_statement dynamodb_transact_write_items
    ec2_authorize_security_group_egress ec2_batch_modify_ipam_routing_policy_registrations ec2_run_instances
    ec2_terminate_instances ecs_run_task
    eks_create_cluster events_put_rule iam_generate_credential_report iam_attach_role_policy kms_schedule_key_deletion
    lambda_invoke logs_start_query rds_reboot_db_instance route53_change_resource_record_sets s3_create_session
    s3_delete_bucket s3_put_object s3_write_get_object_response secretsmanager_rotate_secret sns_publish
    sqs_purge_queue sqs_receive_message ssm_send_command stepfunctions_start_execution stepfunctions_test_state
    sts_assume_role
""".split()

HANDS_OUT = """
    ec2_get_password_data kms_decrypt secretsmanager_get_secret_value ssm_get_parameter sts_get_federation_token
    sts_get_session_token stepfunctions_get_activity_task
""".split()

CHANGING_WORDS = frozenset(
    """accept activate add allocate assign associate attach authorize cancel change copy create deactivate delete
    deregister detach disable disassociate enable execute import invoke modify move promote provision publish purge put
    reboot register reject release remove replace reset restore revoke rotate run schedule send set start stop tag
    terminate unassign untag update upload write""".split()
)


@pytest.mark.parametrize("name", READS)
def test_the_reader_holds_what_only_reads(catalog: Catalog, name: str) -> None:
    assert catalog[name].read_only


@pytest.mark.parametrize("name", CHANGES)
def test_the_reader_lacks_what_may_change_something(catalog: Catalog, name: str) -> None:
    assert not catalog[name].read_only


@pytest.mark.parametrize("name", HANDS_OUT)
def test_the_reader_lacks_what_hands_out_secrets(catalog: Catalog, name: str) -> None:
    assert not catalog[name].read_only


def test_no_reading_operation_begins_with_a_changing_word(catalog: Catalog) -> None:
    readers = [operation for operation in catalog.values() if operation.read_only]
    verbs = {operation.name.removeprefix(f"{operation.service.key}_").split("_")[0] for operation in readers}
    assert verbs.isdisjoint(CHANGING_WORDS)
    assert READING_VERBS.isdisjoint(CHANGING_WORDS)


def test_the_models_own_mark_and_the_verb_agree(catalog: Catalog) -> None:
    # Newer models say which operations only read. Where they do, the reader misses none without a reason.
    marked = {
        operation.name
        for operation in catalog.values()
        if service_description(operation.service.key)["operations"][operation.operation].get("readonly")
    }
    missed = {name for name in marked if not catalog[name].read_only} - NOT_FOR_THE_READER.keys()
    assert len(marked) > 50
    assert missed <= {"ssm_validate_cloud_connector"}  # asks another cloud with stored credentials


def test_every_exception_is_about_an_operation_that_exists(catalog: Catalog) -> None:
    assert {*NOT_FOR_THE_READER, *READING_ALL_THE_SAME} <= catalog.keys()


def test_every_exception_is_needed(catalog: Catalog) -> None:
    def verb(name: str) -> str:
        return name.removeprefix(f"{catalog[name].service.key}_").removeprefix("batch_").split("_")[0]

    assert [name for name in NOT_FOR_THE_READER if verb(name) not in READING_VERBS] == []
    assert [name for name in READING_ALL_THE_SAME if verb(name) in READING_VERBS] == []


def test_both_identities_hold_a_catalog_worth_searching(catalog: Catalog) -> None:
    readers = sum(operation.read_only for operation in catalog.values())
    assert 800 <= readers <= len(catalog) // 2


def test_a_word_that_only_begins_like_a_reading_verb_does_not_read() -> None:
    assert not only_reads("s3_getaway_bucket", service="s3")
    assert not only_reads("s3_batch_delete_get", service="s3")
