# pawl_fingerprint(TARGET [FILES file...])
#
# Gives the sources of TARGET the header pawl_fingerprint.hpp, which defines PAWL_FINGERPRINT: a text that changes when
# one of the sources of TARGET, or of FILES, does. Computed by the build, not by the configuration. For
#   registry.workflow("order", order, {.fingerprint = PAWL_FINGERPRINT});
# Sources are those that TARGET has when this is called; name headers with workflow code in FILES. Put workflows into a
# target of their own, so that other changes do not count.

if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(PAWL_FINGERPRINT_SCRIPT ${CMAKE_CURRENT_LIST_FILE})

  function(pawl_fingerprint target)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "FILES")
    get_target_property(dir ${target} SOURCE_DIR)
    get_target_property(sources ${target} SOURCES)
    if(NOT sources)
      set(sources)
    endif()
    set(files)
    foreach(source IN LISTS sources)
      if(NOT source MATCHES "\\$<")
        cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${dir} NORMALIZE)
        list(APPEND files ${source})
      endif()
    endforeach()
    foreach(source IN LISTS arg_FILES)
      cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
      list(APPEND files ${source})
    endforeach()

    set(header ${CMAKE_CURRENT_BINARY_DIR}/pawl_fingerprint/${target}/pawl_fingerprint.hpp)
    add_custom_command(
      OUTPUT ${header}
      COMMAND ${CMAKE_COMMAND} "-DHEADER=${header}" "-DDIR=${dir}" "-DFILES=${files}" -P ${PAWL_FINGERPRINT_SCRIPT}
      DEPENDS ${files} ${PAWL_FINGERPRINT_SCRIPT}
      COMMENT "Fingerprint of ${target}"
      VERBATIM)
    cmake_path(GET header PARENT_PATH include_dir)
    target_sources(${target} PRIVATE ${header})
    target_include_directories(${target} PRIVATE ${include_dir})
  endfunction()
  return()
endif()

# As a script: writes the header. Paths count relative to the target, so that they are the same on every machine.
set(lines)
foreach(file IN LISTS FILES)
  cmake_path(RELATIVE_PATH file BASE_DIRECTORY ${DIR} OUTPUT_VARIABLE name)
  file(SHA256 ${file} digest)
  list(APPEND lines "${name} ${digest}")
endforeach()
list(SORT lines)
string(JOIN "\n" all ${lines})
string(SHA256 fingerprint "${all}")
file(WRITE ${HEADER} "#pragma once\n#define PAWL_FINGERPRINT \"sha256:${fingerprint}\"\n")
