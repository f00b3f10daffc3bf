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

Error failed(ErrorCode code, const std::string& name, int reason) {
  return make_error(code, name + ": " + std::generic_category().message(reason));
}

Result<void> write_all(const std::string& path, std::string_view text) {
  File file(std::fopen(path.c_str(), "wb"));
  if (file == nullptr) {
    return failed(ErrorCode::kInvalidState, "'" + path + "'", errno);
  }
  const bool is_written = std::fwrite(text.data(), 1, text.size(), file.get()) == text.size();
  const int reason = errno;
  if (std::fclose(file.release()) != 0 || !is_written) {
    return failed(ErrorCode::kInvalidState, "'" + path + "'", is_written ? errno : reason);
  }
  return {};
}

}  // namespace

Result<std::string> read_file(const std::string& path) {
  const bool is_stdin = path == "-";
  const std::string name = is_stdin ? "standard input" : "'" + path + "'";
  const File file(is_stdin ? stdin : std::fopen(path.c_str(), "rb"));
  if (file == nullptr) {
    return failed(ErrorCode::kNotFound, name, errno);
  }
  std::string text;
  std::array<char, 65536> part{};
  while (const std::size_t count = std::fread(part.data(), 1, part.size(), file.get())) {
    text.append(part.data(), count);
  }
  if (std::ferror(file.get()) != 0) {
    return failed(ErrorCode::kNotFound, name, errno);
  }
  return text;
}

Result<void> write_file(const std::string& path, std::string_view text) {
  const std::string part = path + ".part";
  Result<void> done = write_all(part, text);
  std::error_code error;
  if (done) {
    std::filesystem::rename(part, path, error);
    if (error) {
      done = make_error(ErrorCode::kInvalidState, "'" + path + "': " + error.message());
    }
  }
  if (!done) {
    std::filesystem::remove(part, error);
  }
  return done;
}

}  // namespace pawl::cli
