#include "cli/checked_runs.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "cli/files.h"

namespace pawl::cli {

namespace {

constexpr std::size_t kPageRuns = 100;

void set_document(CheckedRun& run, const portable::RunDocument& document) {
  const store::RunRow& row = document.image.row;
  run.id = row.id;
  run.number = row.number;
  run.uuid = row.uuid.to_string();
  run.kind = row.kind;
  run.status = row.status;
  run.request = portable::to_json(document);
  std::ranges::replace(run.request, '\n', ' ');  // There is none inside of a text of JSON.
}

class OpenRuns final : public CheckedRuns {
 public:
  OpenRuns(store::Store& store, std::vector<std::string> kinds) : store_(store) {
    filter_.kinds = std::move(kinds);
    filter_.statuses = {store::RunStatus::kRunning, store::RunStatus::kWaiting,
                        store::RunStatus::kCompensating, store::RunStatus::kBlocked};
  }

  Result<std::optional<CheckedRun>> next() override {
    while (next_ == rows_.size()) {
      if (!after_) {
        return std::optional<CheckedRun>();
      }
      PAWL_TRY_ASSIGN(store::RunPage page, store_.catalog().list_runs(filter_, *after_, kPageRuns));
      rows_ = std::move(page.rows);
      after_ = page.next;
      next_ = 0;
    }
    const store::RunRow& row = rows_[next_++];
    CheckedRun run;
    run.id = row.id;
    run.number = row.number;
    run.uuid = row.uuid.to_string();
    run.kind = row.kind;
    run.status = row.status;
    const Result<portable::RunDocument> document = portable::read_document(store_, row.key);
    if (document) {
      set_document(run, *document);
    } else if (document.error().code == ErrorCode::kNotFound) {
      return next();  // It was removed meanwhile.
    } else {
      run.error = document.error();
    }
    return std::optional(std::move(run));
  }

  Result<std::int64_t> count() override { return store_.catalog().count_runs(filter_); }

 private:
  store::Store& store_;
  store::RunFilter filter_;
  std::optional<store::RunCursor> after_ = store::RunCursor();
  std::vector<store::RunRow> rows_;
  std::size_t next_ = 0;
};

Result<portable::RunDocument> read_run(const std::filesystem::path& path) {
  PAWL_TRY_ASSIGN(const std::string text, read_file(path.string(), kRunFileBytesMax));
  return portable::from_json(text);
}

class ExportedRuns final : public CheckedRuns {
 public:
  ExportedRuns(std::vector<std::filesystem::path> files, std::vector<std::string> kinds)
      : files_(std::move(files)), kinds_(std::move(kinds)) {}

  Result<std::optional<CheckedRun>> next() override {
    while (next_ < files_.size()) {
      const std::filesystem::path& path = files_[next_++];
      CheckedRun run;
      const Result<portable::RunDocument> document = read_run(path);
      if (document) {
        set_document(run, *document);
      } else {
        run.id = path.string();
        run.error = document.error();
      }
      if (run.error || kinds_.empty() || std::ranges::find(kinds_, run.kind) != kinds_.end()) {
        return std::optional(std::move(run));
      }
    }
    return std::optional<CheckedRun>();
  }

  Result<std::int64_t> count() override { return static_cast<std::int64_t>(files_.size()); }

 private:
  const std::vector<std::filesystem::path> files_;
  const std::vector<std::string> kinds_;
  std::size_t next_ = 0;
};

}  // namespace

std::unique_ptr<CheckedRuns> open_runs_of(store::Store& store, std::vector<std::string> kinds) {
  return std::make_unique<OpenRuns>(store, std::move(kinds));
}

Result<std::unique_ptr<CheckedRuns>> exported_runs(const std::vector<std::filesystem::path>& paths,
                                                   std::vector<std::string> kinds) {
  std::vector<std::filesystem::path> files;
  for (const std::filesystem::path& path : paths) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) {
      std::vector<std::filesystem::path> found;
      std::filesystem::recursive_directory_iterator each(path, error);
      for (; !error && each != std::filesystem::recursive_directory_iterator();
           each.increment(error)) {
        if (each->path().extension() == ".json" && each->is_regular_file(error)) {
          found.push_back(each->path());
        }
      }
      if (error) {
        return make_error(ErrorCode::kNotFound,
                          "cannot read '" + path.string() + "': " + error.message());
      }
      std::ranges::sort(found);
      files.insert(files.end(), found.begin(), found.end());
    } else if (std::filesystem::exists(path, error)) {
      files.push_back(path);
    } else {
      return make_error(ErrorCode::kNotFound, "there is no file '" + path.string() + "'");
    }
  }
  if (files.empty()) {
    return make_error(ErrorCode::kNotFound, "there are no *.json files to check");
  }
  return std::unique_ptr<CheckedRuns>(
      std::make_unique<ExportedRuns>(std::move(files), std::move(kinds)));
}

}  // namespace pawl::cli
