#include "capi/handles.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace pawl::capi {

void ProcessFence::prepare() {
  works_ = ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

void ProcessFence::operator()() const {
  if (!works_ || ::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}

}  // namespace pawl::capi
