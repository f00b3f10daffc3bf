#include "cli/files.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>

namespace pawl::cli {

namespace {

struct Closer {
  void operator()(std::FILE* file) const {
    if (file != stdin) {
      std::fclose(file);
    }
  }
};
using File = std::unique_ptr<std::FILE, Closer>;

Error failed(ErrorCode code, const std::string& title, int reason) {
  return make_error(code, title + ": " + std::generic_category().message(reason));
}

// `title`: what people call it.
Result<void> write_all(const std::string& path, const std::string& title, std::string_view text) {
  File file(std::fopen(path.c_str(), "wb"));
  if (file == nullptr) {
    return failed(ErrorCode::kInvalidState, title, errno);
  }
  const bool is_written = std::fwrite(text.data(), 1, text.size(), file.get()) == text.size();
  const int reason = errno;
  if (std::fclose(file.release()) != 0 || !is_written) {
    return failed(ErrorCode::kInvalidState, title, is_written ? errno : reason);
  }
  return {};
}

}  // namespace

std::string file_title(const std::string& path) {
  return path == "-" ? "standard input" : "'" + path + "'";
}

Result<std::string> read_file(const std::string& path, std::size_t bytes_max) {
  const std::string title = file_title(path);
  const File file(path == "-" ? stdin : std::fopen(path.c_str(), "rb"));
  if (file == nullptr) {
    return failed(ErrorCode::kNotFound, title, errno);
  }
  std::string text;
  std::array<char, 65536> part{};
  while (const std::size_t count = std::fread(part.data(), 1, part.size(), file.get())) {
    text.append(part.data(), count);
    if (text.size() > bytes_max) {
      return make_error(ErrorCode::kLimitExceeded,
                        title + " has more than " + std::to_string(bytes_max >> 20U) + " MiB");
    }
  }
  if (std::ferror(file.get()) != 0) {
    return failed(ErrorCode::kNotFound, title, errno);
  }
  return text;
}

Result<void> write_file(const std::string& path, std::string_view text) {
  namespace fs = std::filesystem;
  const std::string title = file_title(path);
  std::error_code error;
  const fs::file_status there = fs::status(path, error);
  if (fs::exists(there) && !fs::is_regular_file(there)) {
    return write_all(path, title, text);
  }
  fs::path target = fs::weakly_canonical(path, error);  // Behind links.
  if (error) {
    return make_error(ErrorCode::kInvalidState, title + ": " + error.message());
  }
  const std::string part = target.string() + ".part";
  Result<void> done = write_all(part, title, text);
  if (done) {
    fs::rename(part, target, error);
    if (error) {
      done = make_error(ErrorCode::kInvalidState, title + ": " + error.message());
    }
  }
  if (!done) {
    fs::remove(part, error);
  }
  return done;
}

}  // namespace pawl::cli
