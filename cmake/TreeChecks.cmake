# Checks of the source tree that run with the tests. clang-tidy takes minutes and is left to `make lint`.

find_package(Python3 3.11 REQUIRED COMPONENTS Interpreter)

pawl_external_test(tree.format COMMAND make --no-print-directory check-format LABELS tree)
pawl_external_test(tree.layers COMMAND ${Python3_EXECUTABLE} tools/check_layers.py LABELS tree)
pawl_external_test(tree.layers_self_test COMMAND ${Python3_EXECUTABLE} tools/check_layers.py --self-test LABELS tree)
pawl_external_test(tree.docs COMMAND ${Python3_EXECUTABLE} tools/check_docs.py LABELS tree)
pawl_external_test(tree.docs_self_test COMMAND ${Python3_EXECUTABLE} tools/check_docs.py --self-test LABELS tree)
pawl_external_test(tree.mutants COMMAND ${Python3_EXECUTABLE} tests/mutants/run.py --check LABELS tree)
pawl_external_test(tree.mutants_self_test COMMAND ${Python3_EXECUTABLE} tests/mutants/run.py --self-test LABELS tree)
