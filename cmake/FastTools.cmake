# Uses ccache and lld when they are there. Both only save time, so their absence is not an error.

find_program(PAWL_CCACHE ccache)
if(PAWL_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${PAWL_CCACHE})
endif()

include(CheckLinkerFlag)
check_linker_flag(CXX -fuse-ld=lld PAWL_HAVE_LLD)
if(PAWL_HAVE_LLD)
  add_link_options(-fuse-ld=lld)
endif()
