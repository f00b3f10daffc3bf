# Unit tests, beside the code that they test: one program per layer.
if(NOT PAWL_BUILD_TESTS)
  return()
endif()

pawl_test(base_test SOURCES base/moment_test.cc base/result_test.cc base/text_test.cc base/uuid_test.cc LIBS pawl_base LABELS asan)

pawl_test(
  replay_test
  SOURCES
    replay/awaits_test.cc
    replay/flat_index_test.cc
    replay/labels_test.cc
    replay/location_test.cc
    replay/log_test.cc
    replay/machine_live_test.cc
    replay/machine_test.cc
    replay/mailboxes_test.cc
    replay/run_state_test.cc
    replay/text_pool_test.cc
  LIBS pawl_replay
  LABELS asan)

pawl_test(format_test SOURCES format/log_json_test.cc format/payload_json_test.cc LIBS pawl_format LABELS asan)

pawl_test(store_state_test SOURCES store/state_test.cc LIBS pawl_store LABELS asan)

pawl_test(
  view_test
  SOURCES
    view/entry_lines_test.cc
    view/history_test.cc
    view/line_test.cc
    view/moments_test.cc
    view/open_steps_test.cc
    view/run_query_test.cc
    view/shell_word_test.cc
    view/text_test.cc
    view/why_test.cc
  LIBS pawl_view pawl_engine pawl_format
  LABELS asan)

# It replaces operator new, and is a program of its own.
pawl_test(view_cost_test SOURCES view/cost_test.cc LIBS pawl_view)

pawl_test(
  portable_test
  SOURCES portable/fork_test.cc portable/retry_test.cc portable/run_document_test.cc
  LIBS pawl_portable pawl_format pawl_sqlite
  LABELS asan)

pawl_test(conform_test SOURCES conform/runner_test.cc LIBS pawl_conform LABELS asan)

if(PAWL_BUILD_CLI)
  pawl_test(
    cli_parts_test
    SOURCES
      cli/closest.cc
      cli/closest_test.cc
      cli/console.cc
      cli/progress.cc
      cli/table.cc
      cli/table_test.cc
    LIBS pawl_view
    LABELS asan)
  add_test(NAME conformance COMMAND pawl conform ${PROJECT_SOURCE_DIR}/conformance ${PROJECT_SOURCE_DIR}/docs/examples)
  set_tests_properties(conformance PROPERTIES TIMEOUT 300)
endif()
