# Uses ccache and lld when they are there. Both only save time, so their absence is not an error.

find_program(PAWL_CCACHE ccache)
if(PAWL_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Paths below the source tree do not count: another checkout of the same code is served as well.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1 ${PAWL_CCACHE})
endif()

include(CheckLinkerFlag)
check_linker_flag(CXX -fuse-ld=lld PAWL_HAVE_LLD)
if(PAWL_HAVE_LLD)
  add_link_options(-fuse-ld=lld)
endif()
