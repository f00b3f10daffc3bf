"""Made by tools/abi.py out of include/pawl.h: do not change it by hand."""
# fmt: off
from ctypes import (POINTER, Structure, c_char_p, c_double, c_int32, c_int64, c_size_t,
                    c_uint32, c_uint64, c_void_p)

PAWL_ABI_VERSION = 1
PAWL_OK = 0
PAWL_INVALID_ARGUMENT = 1
PAWL_INVALID_STATE = 3
PAWL_LIMIT_EXCEEDED = 4
PAWL_NOT_FOUND = 5
PAWL_ALREADY_EXISTS = 6
PAWL_CLOSED = 7
PAWL_TIMED_OUT = 8
PAWL_BAD_HANDLE = 9
PAWL_BUSY = 10
PAWL_INTERNAL = 11
PAWL_DETERMINISM_VIOLATION = 20
PAWL_CORRUPT_LOG = 40
PAWL_MALFORMED_INPUT = 41
PAWL_STORE_BUSY = 60
PAWL_STORE_FULL = 61
PAWL_STORE_IO = 62
PAWL_STORE_CORRUPT = 63
PAWL_STORE_UNUSABLE = 64
PAWL_UNKNOWN_OUTCOME = 65
PAWL_TASK = 1
PAWL_OPERATION = 2
PAWL_TIMER = 3
PAWL_PROMISE = 4
PAWL_CHILD = 5
PAWL_STATE = 6
PAWL_SIGNAL = 7
PAWL_BRANCH = 8
PAWL_LOOP = 9
PAWL_VERSION_CHECK = 10
PAWL_COMPENSATION = 11
PAWL_CANCEL_TASK = 12
PAWL_CANCEL_TIMER = 13
PAWL_PENDING = 0
PAWL_VALUE = 1
PAWL_FAILED = 2
PAWL_CANCELLED = 3
PAWL_TIMEOUT = 4
PAWL_STRICT = 0
PAWL_PER_KIND = 1
PAWL_BY_NAME = 2
PAWL_AWAIT_ALL = 0
PAWL_AWAIT_ANY = 1
PAWL_AWAIT_BLOCKED = 0
PAWL_AWAIT_READY = 1
PAWL_AWAIT_CANCELLED = 2
PAWL_END_COMPLETED = 65
PAWL_END_FAILED = 66
PAWL_END_CANCELLED = 67
PAWL_END_RECURRED = 68
PAWL_RUN_RUNNING = 1
PAWL_RUN_WAITING = 2
PAWL_RUN_COMPENSATING = 3
PAWL_RUN_COMPLETED = 4
PAWL_RUN_FAILED = 5
PAWL_RUN_CANCELLED = 6
PAWL_RUN_RECURRED = 7
PAWL_RUN_BLOCKED = 8
PAWL_EXISTING_RETURN = 0
PAWL_EXISTING_FAIL = 1
PAWL_EXISTING_REPLACE = 2
PAWL_ON_CHANGE_VERIFY = 0
PAWL_ON_CHANGE_REFUSE = 1
PAWL_PARENT_CLOSE_CANCEL = 0
PAWL_PARENT_CLOSE_ABANDON = 1
PAWL_PARENT_CLOSE_TERMINATE = 2
PAWL_EVENT_ACTIVATION = 1
PAWL_EVENT_OPERATION = 2
PAWL_EVENT_TASK = 4
PAWL_EVENT_FORGET = 8
PAWL_EVENT_REPLY = 16
PAWL_EVENT_TROUBLE = 32


class pawl_bytes(Structure):
    _fields_ = [
        ("data", c_char_p),
        ("size", c_size_t),
    ]


class pawl_retry(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("attempts", c_uint32),
        ("initial_ms", c_int64),
        ("maximum_ms", c_int64),
        ("factor", c_double),
        ("jitter", c_double),
        ("final_types", pawl_bytes),
    ]


class pawl_failure(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("type", pawl_bytes),
        ("message", pawl_bytes),
        ("details", pawl_bytes),
        ("is_final", c_int32),
        ("is_cancelled", c_int32),
        ("has_next_delay", c_int32),
        ("next_delay_ms", c_int64),
    ]


class pawl_context_options(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("run_id", pawl_bytes),
        ("matching", c_int32),
        ("started_at_ms", c_int64),
        ("history", pawl_bytes),
        ("definition_then", pawl_bytes),
        ("definition_now", pawl_bytes),
    ]


class pawl_command(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("kind", c_int32),
        ("branch", c_uint32),
        ("name", pawl_bytes),
        ("child_kind", pawl_bytes),
        ("target", c_uint32),
        ("step_key", pawl_bytes),
        ("version", c_uint32),
        ("source", pawl_bytes),
        ("has_payload", c_int32),
        ("payload", pawl_bytes),
        ("clear", c_int32),
        ("number", c_int64),
        ("checkpoint_every", c_uint32),
        ("extra", pawl_bytes),
    ]


class pawl_opened(Structure):
    _fields_ = [
        ("future", c_uint32),
        ("branch", c_uint32),
        ("must_execute", c_int32),
    ]


class pawl_loop_position(Structure):
    _fields_ = [
        ("finished", c_uint64),
        ("state", pawl_bytes),
        ("is_done", c_int32),
        ("result", pawl_bytes),
    ]


class pawl_outcome(Structure):
    _fields_ = [
        ("outcome", c_int32),
        ("has_payload", c_int32),
        ("payload", pawl_bytes),
        ("extra", pawl_bytes),
    ]


class pawl_await_state(Structure):
    _fields_ = [
        ("id", c_uint64),
        ("state", c_int32),
        ("decided_by", c_uint32),
    ]


class pawl_delivery(Structure):
    _fields_ = [
        ("is_there", c_int32),
        ("future", c_uint32),
        ("woken", POINTER(pawl_await_state)),
        ("woken_count", c_size_t),
    ]


class pawl_violation(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("is_there", c_int32),
        ("code", pawl_bytes),
        ("headline", pawl_bytes),
        ("run_id", pawl_bytes),
        ("location", pawl_bytes),
        ("label", pawl_bytes),
        ("recorded", pawl_bytes),
        ("asked", pawl_bytes),
        ("source_now", pawl_bytes),
        ("source_then", pawl_bytes),
        ("last_agreed", pawl_bytes),
        ("definition_then", pawl_bytes),
        ("definition_now", pawl_bytes),
        ("advice", pawl_bytes),
        ("text", pawl_bytes),
    ]


class pawl_task_options(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("queue", pawl_bytes),
        ("priority", c_int32),
        ("wait_timeout_ms", c_int64),
        ("attempt_timeout_ms", c_int64),
        ("total_timeout_ms", c_int64),
        ("heartbeat_timeout_ms", c_int64),
        ("retry", POINTER(pawl_retry)),
    ]


class pawl_engine_options(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("url", pawl_bytes),
        ("worker_name", pawl_bytes),
        ("lease_ms", c_int64),
        ("cache_bytes", c_uint64),
        ("payload_bytes_max", c_uint64),
        ("queues", pawl_bytes),
        ("is_test", c_int32),
        ("replay_every_turn", c_int32),
    ]


class pawl_workflow_options(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("kind", pawl_bytes),
        ("matching", c_int32),
        ("fingerprint", pawl_bytes),
        ("on_change", c_int32),
    ]


class pawl_event(Structure):
    _fields_ = [
        ("kind", c_int32),
        ("is_new", c_int32),
        ("context", c_void_p),
        ("attempt", c_uint64),
        ("future", c_uint32),
        ("number", c_uint32),
        ("run_id", pawl_bytes),
        ("run_uuid", pawl_bytes),
        ("name", pawl_bytes),
        ("payload", pawl_bytes),
        ("key", pawl_bytes),
        ("details", pawl_bytes),
        ("status", c_int32),
        ("run_status", c_int32),
        ("flag", c_int32),
    ]


class pawl_events(Structure):
    _fields_ = [
        ("list", c_void_p),
        ("first", POINTER(pawl_event)),
        ("stride", c_size_t),
        ("count", c_size_t),
    ]


class pawl_reply(Structure):
    _fields_ = [
        ("list", c_void_p),
        ("payload", pawl_bytes),
        ("run_status", c_int32),
        ("flag", c_int32),
    ]


class pawl_start_options(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("kind", pawl_bytes),
        ("id", pawl_bytes),
        ("input", pawl_bytes),
        ("on_existing", c_int32),
        ("tags", pawl_bytes),
        ("signal", pawl_bytes),
        ("signal_payload", pawl_bytes),
        ("signal_event", pawl_bytes),
    ]


# The structs for the module `struct`, to read all fields at once.
pawl_bytes_format = "PN0Q"
pawl_retry_format = "NIqqddPN0Q"
pawl_failure_format = "NPNPNPNiiiq0Q"
pawl_context_options_format = "NPNiqPNPNPN0Q"
pawl_command_format = "NiIPNPNIPNIPNiPNiqIPN0Q"
pawl_opened_format = "IIi"
pawl_loop_position_format = "QPNiPN0Q"
pawl_outcome_format = "iiPNPN0Q"
pawl_await_state_format = "QiI0Q"
pawl_delivery_format = "iIPN0Q"
pawl_violation_format = "NiPNPNPNPNPNPNPNPNPNPNPNPNPNPN0Q"
pawl_task_options_format = "NPNiqqqqP0Q"
pawl_engine_options_format = "NPNPNqQQPNii0Q"
pawl_workflow_options_format = "NPNiPNi0Q"
pawl_event_format = "iiPQIIPNPNPNPNPNPNiii0Q"
pawl_events_format = "PPNN0Q"
pawl_reply_format = "PPNii0Q"
pawl_start_options_format = "NPNPNPNiPNPNPNPN0Q"

# Name: result, arguments.
FUNCTIONS = {
    "pawl_version": (c_char_p, []),
    "pawl_abi_version": (c_uint32, []),
    "pawl_status_name": (c_char_p, [c_int32]),
    "pawl_last_error": (pawl_bytes, []),
    "pawl_buffer_data": (c_int32, [c_void_p, POINTER(pawl_bytes)]),
    "pawl_buffer_free": (c_int32, [c_void_p]),
    "pawl_retry_default": (c_int32, [POINTER(pawl_retry)]),
    "pawl_context_create": (c_int32, [POINTER(pawl_context_options), POINTER(c_void_p)]),
    "pawl_context_free": (c_int32, [c_void_p]),
    "pawl_context_set_time": (c_int32, [c_void_p, c_int64]),
    "pawl_context_open": (c_int32, [c_void_p, POINTER(pawl_command), POINTER(pawl_opened)]),
    "pawl_context_complete": (c_int32, [c_void_p, c_uint32, c_int32, pawl_bytes]),
    "pawl_context_removed": (c_int32, [c_void_p, POINTER(pawl_command)]),
    "pawl_context_check_version": (c_int32, [c_void_p, c_uint32, c_uint32, pawl_bytes, POINTER(c_uint32)]),
    "pawl_context_close_branch": (c_int32, [c_void_p, c_uint32]),
    "pawl_context_loop_position": (c_int32, [c_void_p, c_uint32, POINTER(pawl_loop_position)]),
    "pawl_context_enter_iteration": (c_int32, [c_void_p, c_uint32, POINTER(c_uint32)]),
    "pawl_context_continue_loop": (c_int32, [c_void_p, c_uint32, pawl_bytes, POINTER(c_uint32)]),
    "pawl_context_end_loop": (c_int32, [c_void_p, c_uint32, pawl_bytes, pawl_bytes, POINTER(c_uint32)]),
    "pawl_context_abandon_loop": (c_int32, [c_void_p, c_uint32]),
    "pawl_context_outcome": (c_int32, [c_void_p, c_uint32, POINTER(pawl_outcome)]),
    "pawl_context_command_id": (c_int32, [c_void_p, c_uint32, POINTER(pawl_bytes)]),
    "pawl_context_begin_await": (c_int32, [c_void_p, c_int32, POINTER(c_uint32), c_size_t, c_int32, POINTER(pawl_await_state)]),
    "pawl_context_give_up_await": (c_int32, [c_void_p, c_uint64]),
    "pawl_context_arrive": (c_int32, [c_void_p, pawl_bytes, POINTER(c_int32)]),
    "pawl_context_next_delivery": (c_int32, [c_void_p, POINTER(pawl_delivery)]),
    "pawl_context_now": (c_int32, [c_void_p, POINTER(c_int64)]),
    "pawl_context_cancelled": (c_int32, [c_void_p, POINTER(c_int32), POINTER(pawl_bytes)]),
    "pawl_context_state": (c_int32, [c_void_p, pawl_bytes, POINTER(c_int32), POINTER(pawl_bytes)]),
    "pawl_context_uuid": (c_int32, [c_void_p, c_uint32, c_char_p]),
    "pawl_context_random": (c_int32, [c_void_p, c_uint32, POINTER(c_uint64)]),
    "pawl_context_signal_count": (c_int32, [c_void_p, pawl_bytes, POINTER(c_size_t)]),
    "pawl_context_take_signal": (c_int32, [c_void_p, c_uint32, pawl_bytes, POINTER(pawl_outcome)]),
    "pawl_context_finish": (c_int32, [c_void_p, c_int32, pawl_bytes]),
    "pawl_context_take_new": (c_int32, [c_void_p, POINTER(c_void_p)]),
    "pawl_context_report": (c_int32, [c_void_p, POINTER(c_void_p)]),
    "pawl_context_violation": (c_int32, [c_void_p, POINTER(pawl_violation)]),
    "pawl_task_extra": (c_int32, [POINTER(pawl_task_options), POINTER(c_void_p)]),
    "pawl_child_extra": (c_int32, [c_int32, pawl_bytes, POINTER(c_void_p)]),
    "pawl_engine_open": (c_int32, [POINTER(pawl_engine_options), POINTER(c_void_p)]),
    "pawl_engine_add_workflow": (c_int32, [c_void_p, POINTER(pawl_workflow_options)]),
    "pawl_engine_add_activity": (c_int32, [c_void_p, pawl_bytes, POINTER(pawl_retry)]),
    "pawl_engine_start": (c_int32, [c_void_p]),
    "pawl_engine_stop": (c_int32, [c_void_p]),
    "pawl_engine_free": (c_int32, [c_void_p]),
    "pawl_event_at": (POINTER(pawl_event), [POINTER(pawl_events), c_size_t]),
    "pawl_engine_poll": (c_int32, [c_void_p, c_uint32, c_size_t, c_int64, POINTER(pawl_events)]),
    "pawl_events_free": (c_int32, [c_void_p]),
    "pawl_context_execute": (c_int32, [c_void_p, c_uint32, POINTER(pawl_retry), c_int64]),
    "pawl_context_send": (c_int32, [c_void_p, c_uint32, pawl_bytes, pawl_bytes, pawl_bytes, pawl_bytes, pawl_bytes]),
    "pawl_context_yield": (c_int32, [c_void_p]),
    "pawl_attempt_complete": (c_int32, [c_void_p, c_uint64, pawl_bytes]),
    "pawl_attempt_fail": (c_int32, [c_void_p, c_uint64, POINTER(pawl_failure)]),
    "pawl_attempt_heartbeat": (c_int32, [c_void_p, c_uint64, pawl_bytes, POINTER(c_int32)]),
    "pawl_attempt_should_stop": (c_int32, [c_void_p, c_uint64, POINTER(c_int32)]),
    "pawl_client_start": (c_int32, [c_void_p, POINTER(pawl_start_options), c_uint64, POINTER(pawl_reply)]),
    "pawl_client_result": (c_int32, [c_void_p, pawl_bytes, c_int64, c_uint64, POINTER(pawl_reply)]),
    "pawl_client_signal": (c_int32, [c_void_p, pawl_bytes, pawl_bytes, pawl_bytes, pawl_bytes, c_uint64, POINTER(pawl_reply)]),
    "pawl_client_resolve": (c_int32, [c_void_p, pawl_bytes, pawl_bytes, pawl_bytes, c_uint64, POINTER(pawl_reply)]),
    "pawl_client_reject": (c_int32, [c_void_p, pawl_bytes, pawl_bytes, POINTER(pawl_failure), c_uint64, POINTER(pawl_reply)]),
    "pawl_client_cancel": (c_int32, [c_void_p, pawl_bytes, pawl_bytes, c_uint64, POINTER(pawl_reply)]),
    "pawl_client_terminate": (c_int32, [c_void_p, pawl_bytes, pawl_bytes, c_uint64, POINTER(pawl_reply)]),
    "pawl_client_pause": (c_int32, [c_void_p, pawl_bytes, c_int32, c_uint64, POINTER(pawl_reply)]),
    "pawl_client_resume": (c_int32, [c_void_p, pawl_bytes, c_uint64, POINTER(pawl_reply)]),
    "pawl_client_describe": (c_int32, [c_void_p, pawl_bytes, c_uint64, POINTER(pawl_reply)]),
    "pawl_client_list": (c_int32, [c_void_p, pawl_bytes, c_uint64, POINTER(pawl_reply)]),
    "pawl_client_history": (c_int32, [c_void_p, pawl_bytes, c_uint64, POINTER(pawl_reply)]),
    "pawl_promise_token": (c_int32, [pawl_bytes, pawl_bytes, POINTER(c_void_p)]),
    "pawl_promise_token_parts": (c_int32, [pawl_bytes, POINTER(c_void_p), POINTER(c_void_p)]),
    "pawl_test_now": (c_int32, [c_void_p, POINTER(c_int64)]),
    "pawl_test_advance": (c_int32, [c_void_p, c_int64, c_uint64, POINTER(pawl_reply)]),
}
