# Unit tests, beside the code that they test: one program per layer.
if(NOT PAWL_BUILD_TESTS)
  return()
endif()

pawl_test(base_test SOURCES base/result_test.cc base/uuid_test.cc LIBS pawl_base LABELS asan)

pawl_test(
  replay_test
  SOURCES
    replay/location_test.cc
  LIBS pawl_replay
  LABELS asan)
