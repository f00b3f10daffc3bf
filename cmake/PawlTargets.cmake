# Helpers that every CMakeLists.txt of the project uses to declare its targets.

# pawl_require(PACKAGE APT_PACKAGES [find_package arguments...]): find_package that says what to install.
macro(pawl_require package apt)
  find_package(${package} ${ARGN} QUIET)
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "${package} was not found. On Debian: apt-get install ${apt} (or: make deps)")
  endif()
endmacro()

# pawl_add_if_present(DIR): add_subdirectory, if DIR has a CMakeLists.txt.
macro(pawl_add_if_present dir)
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${dir}/CMakeLists.txt)
    add_subdirectory(${dir})
  endif()
endmacro()

# pawl_library(NAME SOURCES file... [DEPS target...] [PRIVATE_DEPS target...])
#
# A static library, with alias pawl::<NAME without pawl_>. DEPS are visible to users of the library, PRIVATE_DEPS are
# not. Headers that lie beside the sources belong to the library: in a tests build it is seen that each compiles alone.
function(pawl_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPS;PRIVATE_DEPS")
  add_library(${name} STATIC ${arg_SOURCES})
  string(REGEX REPLACE "^pawl_" "" short ${name})
  add_library(pawl::${short} ALIAS ${name})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(${name} PUBLIC ${arg_DEPS} PRIVATE ${arg_PRIVATE_DEPS})
  pawl_warnings(${name})

  if(PAWL_BUILD_TESTS AND NOT PAWL_SANITIZE)
    pawl_check_headers(${name} ${arg_SOURCES})
  endif()
endfunction()

# Object library NAME_headers: one translation unit for each header beside the given sources of library NAME, but for
# those that a source of the same name includes before anything else: that one shows it, too.
function(pawl_check_headers name)
  set(dirs)
  foreach(source IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH source)
    cmake_path(GET source PARENT_PATH dir)
    list(APPEND dirs ${dir})
  endforeach()
  list(REMOVE_DUPLICATES dirs)

  set(units)
  foreach(dir IN LISTS dirs)
    file(GLOB headers CONFIGURE_DEPENDS ${dir}/*.h)
    foreach(header IN LISTS headers)
      cmake_path(RELATIVE_PATH header BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/src OUTPUT_VARIABLE path)
      file(STRINGS ${header} once REGEX "^#pragma once$")
      if(NOT once)
        message(FATAL_ERROR "${header} has no line '#pragma once'")
      endif()
      cmake_path(REPLACE_EXTENSION header .cc OUTPUT_VARIABLE source)
      cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE listed)
      if(listed IN_LIST ARGN)
        file(STRINGS ${source} first REGEX "^#" LIMIT_COUNT 1)
        if(first STREQUAL "#include \"${path}\"")
          continue()
        endif()
      endif()
      set(unit ${PROJECT_BINARY_DIR}/headers/${path}.cc)
      file(CONFIGURE OUTPUT ${unit} CONTENT "#include \"${path}\"\n")
      list(APPEND units ${unit})
    endforeach()
  endforeach()

  if(units)
    add_library(${name}_headers OBJECT ${units})
    target_link_libraries(${name}_headers PRIVATE ${name})
    target_compile_options(${name}_headers PRIVATE -O0)
    pawl_warnings(${name}_headers)
  endif()
endfunction()

# pawl_executable(NAME SOURCES file... [LIBS target...]): a program in <build>/bin.
function(pawl_executable name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBS")
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(${name} PRIVATE ${arg_LIBS})
  pawl_warnings(${name})
endfunction()

# pawl_test(NAME SOURCES file... [LIBS target...] [LABELS label...] [TIMEOUT seconds] [ASAN_ENV var=value...]
#           [TSAN_ENV var=value...])
#
# A GoogleTest program (main, gmock and rapidcheck's gtest glue are linked) with one ctest entry, NAME.<suite>.<case>,
# per case. Runs in the root of the source tree. TIMEOUT is per case, 300 if not given. Labels `asan` and `tsan`: target
# asan_tests (tsan_tests) builds the program in the build of that name, and `make test` runs it from there, whole, as
# asan.NAME (tsan.NAME) with ASAN_ENV (TSAN_ENV) set.
function(pawl_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "SOURCES;LIBS;LABELS;ASAN_ENV;TSAN_ENV")
  if(NOT PAWL_BUILD_TESTS)
    return()
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  pawl_executable(${name} SOURCES ${arg_SOURCES}
    LIBS ${arg_LIBS} GTest::gtest_main GTest::gmock rapidcheck rapidcheck_gtest)

  include(GoogleTest)
  gtest_discover_tests(${name}
    DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    TEST_PREFIX ${name}. WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    PROPERTIES TIMEOUT ${arg_TIMEOUT})
  # gtest_discover_tests cannot pass on a property that is a list.
  set(labels ${CMAKE_CURRENT_BINARY_DIR}/${name}_labels.cmake)
  file(CONFIGURE OUTPUT ${labels} @ONLY CONTENT
    "if(@name@_TESTS)\n  set_tests_properties(\${@name@_TESTS} PROPERTIES LABELS \"@arg_LABELS@\")\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${labels})

  foreach(sanitizer asan tsan)
    if(sanitizer IN_LIST arg_LABELS)
      string(TOUPPER ${sanitizer} prefix)
      add_dependencies(${sanitizer}_tests ${name})
      pawl_external_test(${sanitizer}.${name}
        COMMAND ${PROJECT_SOURCE_DIR}/build-${sanitizer}/bin/${name} --gtest_brief=1
        LABELS ${arg_LABELS} TIMEOUT 900 ENV ${arg_${prefix}_ENV})
    endif()
  endforeach()
endfunction()

# pawl_external_test(NAME COMMAND command... [LABELS label...] [TIMEOUT seconds] [ENV var=value...])
#
# A ctest entry for a command that this build does not make, run in the root of the source tree. It exists only with
# PAWL_EXTERNAL_TESTS and has the label `external` besides its own. TIMEOUT is 300 if not given.
function(pawl_external_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "COMMAND;LABELS;ENV")
  if(NOT PAWL_EXTERNAL_TESTS)
    return()
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  add_test(NAME ${name} COMMAND ${arg_COMMAND} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES
    LABELS "external;${arg_LABELS}" TIMEOUT ${arg_TIMEOUT} ENVIRONMENT "${arg_ENV}"
    COST ${arg_TIMEOUT})  # What may take longest begins first, so that no processor is idle at the end.
endfunction()

# pawl_fuzzer(NAME SOURCES file... [LIBS target...] [SECONDS n])
#
# A libFuzzer harness. With PAWL_BUILD_FUZZ: the program NAME. With PAWL_EXTERNAL_TESTS: the ctest entry fuzz.NAME,
# which runs build-fuzz/bin/NAME for SECONDS (10 if not given) from the inputs in fuzz/corpus/NAME, with a fixed seed.
# Name harnesses fuzz_*; `make fuzz` runs all that are called so.
function(pawl_fuzzer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SECONDS" "SOURCES;LIBS")
  if(PAWL_BUILD_FUZZ)
    pawl_executable(${name} SOURCES ${arg_SOURCES} LIBS ${arg_LIBS})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    add_dependencies(fuzzers ${name})
  endif()
  if(NOT arg_SECONDS)
    set(arg_SECONDS 10)
  endif()
  math(EXPR timeout "${arg_SECONDS} + 120")
  pawl_external_test(fuzz.${name}
    COMMAND make --no-print-directory fuzz-one FUZZER=${name} FUZZ_SECONDS=${arg_SECONDS} FUZZ_FLAGS=-seed=1
    LABELS fuzz TIMEOUT ${timeout})
endfunction()
