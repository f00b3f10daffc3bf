# The library as one file, and what `cmake --install` puts where others find it: headers, the CMake package `pawl` with
# the targets pawl::pawl and pawl::c (the C ABI, which needs no other package), pawl.pc and pawl-c.pc (component pawl); the
# `pawl` command with its manual and completions (component pawl_command).

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(parts pawl_base pawl_replay pawl_format pawl_store pawl_sqlite pawl_stores pawl_engine pawl_sdk)
set(libraries Boost::json SQLite::SQLite3 Threads::Threads)
set(PAWL_PC_REQUIRES "sqlite3 nlohmann_json")
if(PAWL_POSTGRES)
  list(APPEND parts pawl_libpq_linked pawl_postgres)
  list(APPEND libraries PostgreSQL::PostgreSQL)
  string(APPEND PAWL_PC_REQUIRES " libpq")
endif()
set(objects)
foreach(part IN LISTS parts)
  list(APPEND objects $<TARGET_OBJECTS:${part}>)
endforeach()

# `pawl` is the command; the library has that name only outside.
add_library(pawl_lib STATIC ${objects})
add_library(pawl::pawl ALIAS pawl_lib)
set_target_properties(pawl_lib PROPERTIES OUTPUT_NAME pawl EXPORT_NAME pawl LINKER_LANGUAGE CXX)
target_compile_features(pawl_lib PUBLIC cxx_std_20)
target_include_directories(pawl_lib PUBLIC
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(pawl_lib
  PUBLIC nlohmann_json::nlohmann_json
  PRIVATE ${libraries})

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/pawl)
set(PAWL_BOOST_VERSION 1.81)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/pawlConfig.cmake.in ${PROJECT_BINARY_DIR}/pawlConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/pawlConfigVersion.cmake COMPATIBILITY SameMinorVersion)
file(RELATIVE_PATH PAWL_PC_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(${PROJECT_SOURCE_DIR}/cmake/pawl.pc.in ${PROJECT_BINARY_DIR}/pawl.pc @ONLY)

configure_file(${PROJECT_SOURCE_DIR}/cmake/pawl-c.pc.in ${PROJECT_BINARY_DIR}/pawl-c.pc @ONLY)

install(TARGETS pawl_lib EXPORT pawlTargets COMPONENT pawl)
install(EXPORT pawlTargets NAMESPACE pawl:: DESTINATION ${package_dir} COMPONENT pawl)
install(TARGETS pawl_shared EXPORT pawlCTargets COMPONENT pawl)
install(EXPORT pawlCTargets NAMESPACE pawl:: DESTINATION ${package_dir} COMPONENT pawl)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/pawl DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT pawl)
install(FILES ${PROJECT_SOURCE_DIR}/include/pawl.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT pawl)
install(FILES ${PROJECT_BINARY_DIR}/pawlConfig.cmake ${PROJECT_BINARY_DIR}/pawlConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/PawlFingerprint.cmake ${PROJECT_SOURCE_DIR}/cmake/CheckCoroutines.cmake
  DESTINATION ${package_dir} COMPONENT pawl)
install(FILES ${PROJECT_BINARY_DIR}/pawl.pc ${PROJECT_BINARY_DIR}/pawl-c.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT pawl)
if(TARGET pawl)
  # The manual and the completions, made by the command itself.
  set(texts ${PROJECT_BINARY_DIR}/share)
  file(MAKE_DIRECTORY ${texts})
  set(made)
  foreach(text "man/pawl.1" "completion bash/pawl" "completion zsh/_pawl" "completion fish/pawl.fish")
    string(REGEX REPLACE "/.*" "" words "${text}")
    string(REGEX REPLACE ".*/" "" file "${text}")
    string(REPLACE " " ";" words "${words}")
    add_custom_command(OUTPUT ${texts}/${file}
      COMMAND pawl ${words} > ${texts}/${file}.new
      COMMAND ${CMAKE_COMMAND} -E rename ${texts}/${file}.new ${texts}/${file}
      DEPENDS pawl VERBATIM)
    list(APPEND made ${texts}/${file})
  endforeach()
  add_custom_target(pawl_texts ALL DEPENDS ${made})

  install(TARGETS pawl COMPONENT pawl_command)
  install(FILES ${texts}/pawl.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT pawl_command)
  install(FILES ${texts}/pawl DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT pawl_command)
  install(FILES ${texts}/_pawl DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT pawl_command)
  install(FILES ${texts}/pawl.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
    COMPONENT pawl_command)
endif()
