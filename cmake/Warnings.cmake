# pawl_warnings(TARGET): the warnings that all code of this project compiles without. They become errors in the presets
# only (CMAKE_COMPILE_WARNING_AS_ERROR), so that a newer compiler's new warning never breaks somebody's build.
function(pawl_warnings target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wcast-align
    -Woverloaded-virtual -Wimplicit-fallthrough)
endfunction()
