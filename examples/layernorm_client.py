"""layernorm.forward on a Tokitai server, with Python's standard library alone. docs/wire.md has the format.

    tokitai serve --socket /tmp/tokitai.socket &
    python3 examples/layernorm_client.py /tmp/tokitai.socket
"""
import fcntl, mmap, os, socket, struct, sys

HELLO, WELCOME, CALL, ANSWER, F16, F32 = 1, 2, 3, 4, 0, 2  # kinds of messages, types of elements
HEADER = struct.Struct("<IHHII")  # magic, version, kind, length of the body, sequence


def text(words):
    return struct.pack("<I", len(words)) + words.encode()


class Server:
    def __init__(self, path, size):
        """Connects, and shares `size` bytes of memory that can no longer shrink."""
        shared = os.memfd_create("client", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(shared, size)
        fcntl.fcntl(shared, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
        self.memory, self.sequence = mmap.mmap(shared, size), 0
        self.connection = socket.socket(socket.AF_UNIX)
        self.connection.connect(path)
        self.ask(HELLO, text("") + struct.pack("<ii", 0, 0) + text("") + struct.pack("<dq", 0, size), WELCOME, [shared])
        os.close(shared)

    def ask(self, kind, body, wanted, descriptors=()):
        self.sequence += 1
        message = HEADER.pack(0x57696B54, 3, kind, len(body), self.sequence) + body
        self.connection.sendall(message[socket.send_fds(self.connection, [message], descriptors):])
        _, _, kind, length, sequence = HEADER.unpack(self.connection.recv(HEADER.size, socket.MSG_WAITALL))
        body = self.connection.recv(length, socket.MSG_WAITALL)
        code, size = struct.unpack_from("<II", body)  # every answer begins with a status
        if code != 0 or (kind, sequence) != (wanted, self.sequence):
            raise RuntimeError(f"status {code}: {body[8:8 + size].decode()}")


def layernorm_forward(path, rows, cols, x, gamma, beta, eps=1e-5):
    """x, gamma and beta as bytes of f16; y (f16), mean and rstd (f32) as bytes."""
    tensors = [(F16, rows, cols, x), (F16, cols, 0, gamma), (F16, cols, 0, beta),
               (F16, rows, cols, None), (F32, rows, 0, None), (F32, rows, 0, None)]
    body, places, end = struct.pack("<Iq", 0, -1) + text("layernorm.forward") + struct.pack("<BfqI", 1, eps, 0, 1), [], 0
    for kind, size, cols_or_0, data in tensors:
        matrix, length = cols_or_0 > 0, size * max(cols_or_0, 1) * (2 if kind == F16 else 4)
        sizes = (size, cols_or_0, cols_or_0) if matrix else (size,)  # shape, then the stride of its rows
        body += struct.pack(f"<BB{len(sizes)}qqq", 2 if matrix else 1, kind, *sizes, end, end)
        places.append((end, length, data))
        end += (length + 255) // 256 * 256
    body, server = body + bytes(2), Server(path, end)  # neither a residual nor its sum: operands of no dimensions
    for at, length, data in places[:3]:
        server.memory[at:at + length] = data
    with server.connection:
        server.ask(CALL, body, ANSWER)
    return [server.memory[at:at + length] for at, length, _ in places[3:]]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        print(__doc__, end="", file=sys.stderr)
        sys.exit(2)
    x, ones, zeros = (struct.pack("<6e", *row) for row in ((1, 2, 3, 4, 5, 9), [1] * 6, [0] * 6))
    y, mean, rstd = layernorm_forward(sys.argv[1], 1, 6, x, ones, zeros)
    print("y", *struct.unpack("<6e", y), "mean", *struct.unpack("<f", mean), "rstd", *struct.unpack("<f", rstd))
