#include "faults/fault_vfs.h"

#include <signal.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <mutex>

namespace pawl::faults {

namespace {

struct Plan {
  std::mutex mutex;
  std::uint64_t count = 0;
  std::uint64_t kill_at = 0;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint64_t failures = 0;
  Fault fault{};
};

Plan& plan() {
  static Plan instance;
  return instance;
}

enum class Verdict : std::uint8_t { kPass, kIo, kFull, kTorn };

// Passes one boundary.
Verdict pass() {
  Plan& now = plan();
  const std::scoped_lock lock(now.mutex);
  ++now.count;
  if (now.count == now.kill_at) {
    ::kill(::getpid(), SIGKILL);
  }
  if (now.count < now.first || now.count > now.last) {
    return Verdict::kPass;
  }
  ++now.failures;
  switch (now.fault) {
    case Fault::kFull:
      return Verdict::kFull;
    case Fault::kTornWrite:
      return Verdict::kTorn;
    default:
      return Verdict::kIo;
  }
}

// A file of ours: the real one's bytes follow this header.
struct FaultFile {
  sqlite3_file base;
  sqlite3_file* real;
};

sqlite3_file* real_of(sqlite3_file* file) { return reinterpret_cast<FaultFile*>(file)->real; }

sqlite3_vfs* real_vfs(sqlite3_vfs* vfs) { return static_cast<sqlite3_vfs*>(vfs->pAppData); }

// Calls a method of the real file.
template <auto Method, typename... Args>
int forward(sqlite3_file* file, Args... args) {
  sqlite3_file* const real = real_of(file);
  return (real->pMethods->*Method)(real, args...);
}

int close_file(sqlite3_file* file) {
  const int code = forward<&sqlite3_io_methods::xClose>(file);
  file->pMethods = nullptr;
  return code;
}

int write_file(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
  constexpr auto kWrite = &sqlite3_io_methods::xWrite;
  switch (pass()) {
    case Verdict::kPass:
      return forward<kWrite>(file, data, size, offset);
    case Verdict::kFull:
      return SQLITE_FULL;
    case Verdict::kTorn:
      forward<kWrite>(file, data, size / 2, offset);
      return SQLITE_IOERR_WRITE;
    default:
      return SQLITE_IOERR_WRITE;
  }
}

int truncate_file(sqlite3_file* file, sqlite3_int64 size) {
  return pass() == Verdict::kPass ? forward<&sqlite3_io_methods::xTruncate>(file, size)
                                  : SQLITE_IOERR_TRUNCATE;
}

int sync_file(sqlite3_file* file, int flags) {
  return pass() == Verdict::kPass ? forward<&sqlite3_io_methods::xSync>(file, flags)
                                  : SQLITE_IOERR_FSYNC;
}

sqlite3_io_methods make_methods() {
  sqlite3_io_methods methods{};
  methods.iVersion = 2;  // Without memory-mapped reads.
  methods.xClose = close_file;
  methods.xRead = [](sqlite3_file* file, void* data, int size, sqlite3_int64 offset) {
    return forward<&sqlite3_io_methods::xRead>(file, data, size, offset);
  };
  methods.xWrite = write_file;
  methods.xTruncate = truncate_file;
  methods.xSync = sync_file;
  methods.xFileSize = [](sqlite3_file* file, sqlite3_int64* size) {
    return forward<&sqlite3_io_methods::xFileSize>(file, size);
  };
  methods.xLock = [](sqlite3_file* file, int level) {
    return forward<&sqlite3_io_methods::xLock>(file, level);
  };
  methods.xUnlock = [](sqlite3_file* file, int level) {
    return forward<&sqlite3_io_methods::xUnlock>(file, level);
  };
  methods.xCheckReservedLock = [](sqlite3_file* file, int* is_held) {
    return forward<&sqlite3_io_methods::xCheckReservedLock>(file, is_held);
  };
  methods.xFileControl = [](sqlite3_file* file, int op, void* argument) {
    return forward<&sqlite3_io_methods::xFileControl>(file, op, argument);
  };
  methods.xSectorSize = [](sqlite3_file* file) {
    return forward<&sqlite3_io_methods::xSectorSize>(file);
  };
  methods.xDeviceCharacteristics = [](sqlite3_file* file) {
    return forward<&sqlite3_io_methods::xDeviceCharacteristics>(file);
  };
  methods.xShmMap = [](sqlite3_file* file, int page, int size, int extend, volatile void** at) {
    return forward<&sqlite3_io_methods::xShmMap>(file, page, size, extend, at);
  };
  methods.xShmLock = [](sqlite3_file* file, int offset, int count, int flags) {
    return forward<&sqlite3_io_methods::xShmLock>(file, offset, count, flags);
  };
  methods.xShmBarrier = [](sqlite3_file* file) {
    sqlite3_file* const real = real_of(file);
    real->pMethods->xShmBarrier(real);
  };
  methods.xShmUnmap = [](sqlite3_file* file, int remove) {
    return forward<&sqlite3_io_methods::xShmUnmap>(file, remove);
  };
  return methods;
}

int open_file(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  static const sqlite3_io_methods methods = make_methods();
  auto* const mine = reinterpret_cast<FaultFile*>(file);
  mine->base.pMethods = nullptr;
  mine->real = reinterpret_cast<sqlite3_file*>(mine + 1);
  sqlite3_vfs* const real = real_vfs(vfs);
  const int code = real->xOpen(real, name, mine->real, flags, out_flags);
  if (mine->real->pMethods != nullptr) {
    mine->base.pMethods = &methods;
  }
  return code;
}

int delete_file(sqlite3_vfs* vfs, const char* name, int sync_directory) {
  if (pass() != Verdict::kPass) {
    return SQLITE_IOERR_DELETE;
  }
  sqlite3_vfs* const real = real_vfs(vfs);
  return real->xDelete(real, name, sync_directory);
}

// The methods of a VFS get the VFS itself, and the real ones look into theirs.
sqlite3_vfs make_vfs(sqlite3_vfs* real) {
  sqlite3_vfs vfs = *real;
  vfs.iVersion = 2;
  vfs.szOsFile = static_cast<int>(sizeof(FaultFile)) + real->szOsFile;
  vfs.zName = kFaultVfs;
  vfs.pAppData = real;
  vfs.xOpen = open_file;
  vfs.xDelete = delete_file;
  vfs.xAccess = [](sqlite3_vfs* mine, const char* name, int flags, int* result) {
    return real_vfs(mine)->xAccess(real_vfs(mine), name, flags, result);
  };
  vfs.xFullPathname = [](sqlite3_vfs* mine, const char* name, int size, char* out) {
    return real_vfs(mine)->xFullPathname(real_vfs(mine), name, size, out);
  };
  vfs.xRandomness = [](sqlite3_vfs* mine, int size, char* out) {
    return real_vfs(mine)->xRandomness(real_vfs(mine), size, out);
  };
  vfs.xSleep = [](sqlite3_vfs* mine, int microseconds) {
    return real_vfs(mine)->xSleep(real_vfs(mine), microseconds);
  };
  vfs.xCurrentTime = [](sqlite3_vfs* mine, double* out) {
    return real_vfs(mine)->xCurrentTime(real_vfs(mine), out);
  };
  vfs.xGetLastError = [](sqlite3_vfs* mine, int size, char* out) {
    return real_vfs(mine)->xGetLastError(real_vfs(mine), size, out);
  };
  vfs.xCurrentTimeInt64 = [](sqlite3_vfs* mine, sqlite3_int64* out) {
    return real_vfs(mine)->xCurrentTimeInt64(real_vfs(mine), out);
  };
  return vfs;
}

}  // namespace

void register_fault_vfs(bool as_default) {
  static sqlite3_vfs vfs = make_vfs(sqlite3_vfs_find(nullptr));
  sqlite3_vfs_register(&vfs, as_default ? 1 : 0);
  if (const char* const at = std::getenv("PAWL_FAULT_KILL_AT")) {
    kill_at_boundary(std::strtoull(at, nullptr, 10));
  }
}

std::uint64_t boundary_count() {
  const std::scoped_lock lock(plan().mutex);
  return plan().count;
}

void reset_boundaries() {
  const std::scoped_lock lock(plan().mutex);
  plan().count = 0;
}

void fail_boundaries(std::uint64_t first, std::uint64_t last, Fault fault) {
  const std::scoped_lock lock(plan().mutex);
  plan().first = first;
  plan().last = last;
  plan().fault = fault;
  plan().failures = 0;
}

void fail_nothing() { fail_boundaries(1, 0, Fault::kIo); }

std::uint64_t failure_count() {
  const std::scoped_lock lock(plan().mutex);
  return plan().failures;
}

void kill_at_boundary(std::uint64_t boundary) {
  const std::scoped_lock lock(plan().mutex);
  plan().kill_at = boundary;
}

}  // namespace pawl::faults
