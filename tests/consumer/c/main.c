#include <stdio.h>

#include <pawl.h>

int main(void) {
  printf("%d\n", pawl_abi_version() == PAWL_ABI_VERSION);
  return 0;
}
