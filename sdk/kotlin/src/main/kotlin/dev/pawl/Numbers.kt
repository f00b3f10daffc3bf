package dev.pawl

/** The numbers of include/pawl.h that this SDK uses. A test compares them with the header's. */
internal object Numbers {
    const val PAWL_INVALID_ARGUMENT = 1
    const val PAWL_INVALID_STATE = 3
    const val PAWL_LIMIT_EXCEEDED = 4
    const val PAWL_NOT_FOUND = 5
    const val PAWL_ALREADY_EXISTS = 6
    const val PAWL_CLOSED = 7
    const val PAWL_TIMED_OUT = 8
    const val PAWL_BAD_HANDLE = 9
    const val PAWL_DETERMINISM_VIOLATION = 20
    const val PAWL_CORRUPT_LOG = 40
    const val PAWL_MALFORMED_INPUT = 41
    const val PAWL_STORE_BUSY = 60
    const val PAWL_STORE_FULL = 61
    const val PAWL_STORE_IO = 62
    const val PAWL_STORE_CORRUPT = 63
    const val PAWL_STORE_UNUSABLE = 64
    const val PAWL_UNKNOWN_OUTCOME = 65

    const val PAWL_TASK = 1
    const val PAWL_OPERATION = 2
    const val PAWL_TIMER = 3
    const val PAWL_PROMISE = 4
    const val PAWL_CHILD = 5
    const val PAWL_STATE = 6
    const val PAWL_SIGNAL = 7
    const val PAWL_BRANCH = 8
    const val PAWL_LOOP = 9
    const val PAWL_VERSION_CHECK = 10
    const val PAWL_COMPENSATION = 11
    const val PAWL_CANCEL_TASK = 12
    const val PAWL_CANCEL_TIMER = 13

    const val PAWL_VALUE = 1
    const val PAWL_FAILED = 2
    const val PAWL_CANCELLED = 3
    const val PAWL_TIMEOUT = 4

    const val PAWL_STRICT = 0
    const val PAWL_PER_KIND = 1
    const val PAWL_BY_NAME = 2

    const val PAWL_AWAIT_ALL = 0
    const val PAWL_AWAIT_ANY = 1
    const val PAWL_AWAIT_BLOCKED = 0
    const val PAWL_AWAIT_READY = 1
    const val PAWL_AWAIT_CANCELLED = 2

    const val PAWL_END_COMPLETED = 65
    const val PAWL_END_FAILED = 66
    const val PAWL_END_CANCELLED = 67
    const val PAWL_END_RECURRED = 68

    const val PAWL_RUN_RUNNING = 1
    const val PAWL_RUN_WAITING = 2
    const val PAWL_RUN_COMPENSATING = 3
    const val PAWL_RUN_COMPLETED = 4
    const val PAWL_RUN_FAILED = 5
    const val PAWL_RUN_CANCELLED = 6
    const val PAWL_RUN_RECURRED = 7
    const val PAWL_RUN_BLOCKED = 8

    const val PAWL_EXISTING_RETURN = 0
    const val PAWL_EXISTING_FAIL = 1
    const val PAWL_EXISTING_REPLACE = 2

    const val PAWL_ON_CHANGE_VERIFY = 0
    const val PAWL_ON_CHANGE_REFUSE = 1

    const val PAWL_PARENT_CLOSE_CANCEL = 0
    const val PAWL_PARENT_CLOSE_ABANDON = 1
    const val PAWL_PARENT_CLOSE_TERMINATE = 2

    const val PAWL_EVENT_ACTIVATION = 1
    const val PAWL_EVENT_OPERATION = 2
    const val PAWL_EVENT_TASK = 4
    const val PAWL_EVENT_FORGET = 8
    const val PAWL_EVENT_REPLY = 16
    const val PAWL_EVENT_TROUBLE = 32
}
