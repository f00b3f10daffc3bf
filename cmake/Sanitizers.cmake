# PAWL_SANITIZE: what to pass to -fsanitize= for everything in this build.
#   address,undefined                  preset asan
#   thread                             preset tsan
#   fuzzer-no-link,address,undefined   preset fuzz; the harnesses add -fsanitize=fuzzer when they link
set(PAWL_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize=; empty for none")

if(PAWL_SANITIZE)
  add_compile_options(-fsanitize=${PAWL_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${PAWL_SANITIZE})
endif()
