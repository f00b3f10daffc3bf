#include "postgres/proxy.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string_view>

#include "postgres/loopback.h"

namespace pawl::testing {

CuttingProxy::CuttingProxy(std::uint16_t server_port)
    : server_port_(server_port), stop_(::eventfd(0, EFD_CLOEXEC)) {
  const Listening listening = listen_on_loopback();
  listener_ = listening.socket;
  port_ = listening.port;
  thread_ = std::thread([this] { run(); });
}

CuttingProxy::~CuttingProxy() {
  const std::uint64_t one = 1;
  (void)!::write(stop_, &one, sizeof(one));
  thread_.join();
  ::close(listener_);
  ::close(stop_);
}

// One client after the other.
void CuttingProxy::run() {
  while (true) {
    std::array<pollfd, 2> files = {{{stop_, POLLIN, 0}, {listener_, POLLIN, 0}}};
    ::poll(files.data(), files.size(), -1);
    if (files[0].revents != 0) {
      return;
    }
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    serve(client);
    ::close(client);
  }
}

void CuttingProxy::serve(int client) {
  const int server = connect_on_loopback(server_port_);
  if (server < 0) {
    return;
  }
  bool is_open = true;
  bool drop_answer = false;
  std::array<char, 65536> buffer;
  while (is_open) {
    std::array<pollfd, 3> files = {{{stop_, POLLIN, 0}, {client, POLLIN, 0}, {server, POLLIN, 0}}};
    ::poll(files.data(), files.size(), -1);
    if (files[0].revents != 0) {
      break;
    }
    if (files[1].revents != 0) {
      const ssize_t got = ::recv(client, buffer.data(), buffer.size(), 0);
      const std::string_view bytes(buffer.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
      const Cut how = how_;
      const bool is_found = how != Cut::kNever && bytes.find(bytes_) != std::string_view::npos;
      if (is_found && how == Cut::kBefore) {
        break;
      }
      drop_answer |= is_found;
      is_open = got > 0 && send_all(server, bytes);
    }
    if (files[2].revents != 0) {
      const ssize_t got = ::recv(server, buffer.data(), buffer.size(), 0);
      is_open &= !drop_answer && got > 0 &&
                 send_all(client, {buffer.data(), static_cast<std::size_t>(got)});
    }
  }
  ::close(server);
}

}  // namespace pawl::testing
