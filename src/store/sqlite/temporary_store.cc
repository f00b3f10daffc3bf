#include "store/sqlite/temporary_store.h"

#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "store/change_signal.h"
#include "store/sqlite/sqlite_store.h"

namespace pawl::store {

namespace {

// A directory that goes with its owner.
class TemporaryDirectory {
 public:
  static Result<std::unique_ptr<TemporaryDirectory>> make() {
    std::error_code error;
    std::filesystem::path base = "/dev/shm";
    if (!std::filesystem::is_directory(base, error)) {
      base = std::filesystem::temp_directory_path(error);
    }
    std::string path = (base / "pawl-test-XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr) {
      return make_error(ErrorCode::kStoreIo, "cannot make a directory in " + base.string());
    }
    return std::unique_ptr<TemporaryDirectory>(new TemporaryDirectory(std::move(path)));
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  explicit TemporaryDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace

Result<std::shared_ptr<Store>> open_temporary() {
  struct Owner {
    std::unique_ptr<TemporaryDirectory> directory;
    LocalChangeHub hub;
    std::unique_ptr<Store> store;  // Closed first.
  };
  auto owner = std::make_shared<Owner>();
  PAWL_TRY_ASSIGN(owner->directory, TemporaryDirectory::make());
  SqliteOptions options;
  options.path = owner->directory->file("test.db");
  options.durability = Durability::kProcess;
  options.signal = owner->hub.make_signal();
  PAWL_TRY_ASSIGN(owner->store, open_sqlite(std::move(options)));
  Store* const store = owner->store.get();
  return std::shared_ptr<Store>(std::move(owner), store);
}

}  // namespace pawl::store
