#include "store/sqlite/worker_locks.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace pawl::store {

namespace {

// Open file description locks: unlike the older kind they belong to one opening of the file, so
// that stores of one process see one another's.
struct flock byte_lock(WorkerKey worker, short type) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = worker;
  lock.l_len = 1;
  return lock;
}

}  // namespace

Result<std::unique_ptr<WorkerLocks>> WorkerLocks::open(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) {
    return make_error(
        ErrorCode::kStoreUnusable,
        "cannot open '" + path + "', where live workers are marked: " + std::strerror(errno));
  }
  return std::unique_ptr<WorkerLocks>(new WorkerLocks(file));
}

WorkerLocks::~WorkerLocks() { ::close(file_); }

bool WorkerLocks::lock(WorkerKey worker) {
  struct flock lock = byte_lock(worker, F_WRLCK);
  return ::fcntl(file_, F_OFD_SETLK, &lock) == 0;
}

void WorkerLocks::unlock(WorkerKey worker) {
  struct flock lock = byte_lock(worker, F_UNLCK);
  static_cast<void>(::fcntl(file_, F_OFD_SETLK, &lock));
}

bool WorkerLocks::is_locked_elsewhere(WorkerKey worker) const {
  struct flock lock = byte_lock(worker, F_WRLCK);
  return ::fcntl(file_, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

}  // namespace pawl::store
