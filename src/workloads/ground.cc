#include "workloads/ground.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "store/open/open_store.h"
#include "workloads/raw_sqlite.h"
#ifdef PAWL_POSTGRES
#include "store/postgres/connection.h"
#include "workloads/raw_postgres.h"
#endif

namespace pawl::workloads {

namespace {

// For URLs: what has a meaning there is written as %XX.
std::string encoded(const std::string& path) {
  std::string text;
  for (const char c : path) {
    if (c == '%' || c == '?' || c == '#') {
      constexpr std::string_view kDigits = "0123456789ABCDEF";
      const auto byte = static_cast<unsigned char>(c);
      text += {'%', kDigits[byte >> 4U], kDigits[byte & 15U]};
    } else {
      text += c;
    }
  }
  return text;
}

std::string with_parameter(const std::string& url, const std::string& parameter) {
  return url + (url.find('?') == std::string::npos ? "?" : "&") + parameter;
}

class SqliteGround : public Ground {
 public:
  SqliteGround(Workspace& workspace, std::string query)
      : workspace_(workspace), query_(std::move(query)) {}

  bool is_file() const override { return true; }
  std::string fresh_url() override {
    const std::string name = "bench-" + std::to_string(++files_) + ".db";
    return "sqlite:" + encoded((workspace_.directory() / name).string()) + query_;
  }
  std::string fast(const std::string& url) const override {
    return with_parameter(url, "durability=process");
  }
  Result<RawFigure> copy_log(const std::string& url, std::size_t batch,
                             std::size_t rows_max) override {
    PAWL_TRY_ASSIGN(const store::SqliteOptions options, store::parse_sqlite_url(url));
    return workloads::copy_log(options, batch, rows_max);
  }
  Result<RawFigure> read_log(const std::string& url, std::size_t rows_max) override {
    PAWL_TRY_ASSIGN(const store::SqliteOptions options, store::parse_sqlite_url(url));
    return workloads::read_log(options, rows_max);
  }
  // At a copy.
  Result<std::unique_ptr<store::Store>> look(const std::string& url) override {
    PAWL_TRY_ASSIGN(store::SqliteOptions options, store::parse_sqlite_url(url));
    const std::string copy = options.path + ".seen";
    std::error_code error;
    for (const char* suffix : {"", "-wal"}) {
      std::filesystem::copy_file(options.path + suffix, copy + suffix,
                                 std::filesystem::copy_options::overwrite_existing, error);
    }
    options.path = copy;
    return store::open_store(store::StoreUrl(options));
  }
  Result<void> outlive(const std::string& /*url*/) override { return {}; }  // Seen at once.
  Result<std::unique_ptr<store::Store>> open(const std::string& url) override {
    PAWL_TRY_ASSIGN(const store::StoreUrl options, store::parse_store_url(url));
    return store::open_store(options);
  }
  Result<double> disk_mb(const std::string& url) override {
    PAWL_TRY_ASSIGN(const store::SqliteOptions options, store::parse_sqlite_url(url));
    std::error_code error;
    return static_cast<double>(std::filesystem::file_size(options.path, error)) / 1e6;
  }
  void clean(const std::string& url) override {
    const auto options = store::parse_sqlite_url(url);
    for (const char* copy : {"", ".seen"}) {
      for (const char* suffix :
           {"", "-wal", "-shm", "-workers", "-notify", ".steps", ".starts", ".again"}) {
        std::error_code ignored;
        std::filesystem::remove(options->path + copy + suffix, ignored);
      }
    }
  }

 private:
  Workspace& workspace_;
  std::string query_;  // Of the URLs.
  int files_ = 0;
};

Result<void> make_directory(const std::string& url, const store::SqliteOptions& parsed,
                            Workspace& workspace) {
  if (url.empty()) {
    return workspace.make("pawl-bench-");
  }
  std::error_code error;
  if (std::filesystem::exists(std::filesystem::symlink_status(parsed.path, error))) {
    return make_error(
        ErrorCode::kInvalidArgument,
        "'" + parsed.path + "' is there already and is left alone; name a file that is not there");
  }
  return workspace.make(parsed.path + "-bench-");
}

#ifdef PAWL_POSTGRES
class PostgresGround : public Ground {
 public:
  explicit PostgresGround(std::string url) : url_(std::move(url)) {}

  bool is_file() const override { return false; }
  std::string fresh_url() override {
    return with_parameter(
        url_, "schema=pawl_bench_" + std::to_string(::getpid()) + "_" + std::to_string(++schemas_));
  }
  std::string fast(const std::string& url) const override {
    return with_parameter(url, "options=-csynchronous_commit%3Doff");
  }
  Result<RawFigure> copy_log(const std::string& url, std::size_t batch,
                             std::size_t rows_max) override {
    PAWL_TRY_ASSIGN(const store::PostgresOptions options, store::parse_postgres_url(url));
    return workloads::copy_log(options, batch, rows_max);
  }
  Result<RawFigure> read_log(const std::string& url, std::size_t rows_max) override {
    PAWL_TRY_ASSIGN(const store::PostgresOptions options, store::parse_postgres_url(url));
    return workloads::read_log(options, rows_max);
  }
  Result<std::unique_ptr<store::Store>> open(const std::string& url) override {
    PAWL_TRY_ASSIGN(const store::StoreUrl options, store::parse_store_url(url));
    return store::open_store(options);
  }
  Result<std::unique_ptr<store::Store>> look(const std::string& url) override { return open(url); }
  Result<void> outlive(const std::string& url) override {
    PAWL_TRY_ASSIGN(const auto store, look(url));
    PAWL_TRY_ASSIGN(const std::vector<store::WorkerRow> workers, store->catalog().list_workers());
    PAWL_TRY_ASSIGN(const std::optional<std::int64_t> now_ms, store->read_clock());
    std::int64_t wait_ms = 0;
    for (const store::WorkerRow& worker : workers) {
      wait_ms = std::max(wait_ms, worker.expires_ms - now_ms.value_or(0) + 1);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(wait_ms));
    return {};
  }
  std::uint64_t statements() const override { return store::pg::statements_sent(); }
  Result<double> disk_mb(const std::string& url) override {
    PAWL_TRY_ASSIGN(const auto store, look(url));
    PAWL_TRY_ASSIGN(const store::StoreFigures figures, store->catalog().read_figures(0));
    return static_cast<double>(figures.bytes) / 1e6;
  }
  void clean(const std::string& url) override {
    if (const auto options = store::parse_postgres_url(url)) {
      drop_schema(*options);
    }
  }

 private:
  std::string url_;
  int schemas_ = 0;
};
#endif

}  // namespace

Result<std::unique_ptr<Ground>> make_ground(const std::string& url, Workspace& workspace) {
  store::StoreUrl parsed;
  if (!url.empty()) {
    PAWL_TRY_ASSIGN(parsed, store::parse_store_url(url));
  }
#ifdef PAWL_POSTGRES
  if (std::holds_alternative<store::PostgresOptions>(parsed)) {
    PAWL_TRY(workspace.make("pawl-bench-"));
    return std::unique_ptr<Ground>(std::make_unique<PostgresGround>(url));
  }
#endif
  PAWL_TRY(make_directory(url, std::get<store::SqliteOptions>(parsed), workspace));
  const std::size_t query = url.find('?');
  return std::unique_ptr<Ground>(std::make_unique<SqliteGround>(
      workspace, query == std::string::npos ? "" : url.substr(query)));
}

}  // namespace pawl::workloads
