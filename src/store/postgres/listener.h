// Listener: a thread with a connection of its own that sleeps in the kernel until somebody notifies
// a channel, and calls back. It sends nothing while it waits, but what it is given to tell. A lost
// connection is opened again, after growing pauses, for as long as the listener lives.
//
// LISTEN belongs to a server connection: it does not work through a pooler in transaction mode. See
// `every_ms` for that.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "store/postgres/notice.h"
#include "store/postgres/options.h"

namespace pawl::store::pg {

class Listener {
 public:
  struct Options {
    std::string channel;  // 1 to kChannelBytesMax bytes.
    // Whose notices are not told: an id without spaces, e.g. a uuid, that the same store puts into
    // its own. Empty: all are told.
    std::string own_sender;
    // Called on the listener's thread, with the text of a notice.
    std::function<void(std::string_view text)> on_notice;
    // Called there when listening has begun, the first time and after each reconnection: notices up
    // to now may have been missed.
    std::function<void()> on_connected;
    // If not 0: nothing can be heard, so a notice without a text is made up so often, and there is
    // no connection.
    std::int64_t every_ms = 0;
    // Called there after each attempt to connect that failed, and when the connection is lost. May
    // be empty.
    std::function<void(const Error&)> on_error;
  };

  Listener(const PostgresOptions& store, Options options);
  // When this returns, no callback is running and none will be called. It must not be called by one
  // of them. Takes as long as an attempt to connect that is under way: connect_timeout at most, for
  // each host.
  ~Listener();
  // Tells the other listeners of the channel, at once, or if that was just done, a little later: of
  // several texts that are equal one notice. Returns before it is done. What is left when this
  // object goes is told then, if the server is there. Any thread; not without `own_sender`, and not
  // with `every_ms`.
  void tell(std::string_view text);

  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pawl::store::pg
