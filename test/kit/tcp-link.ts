import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A proxy in front of a server, with limited bandwidth, that can be cut, or fall silent while connections stay open. */
export class TcpLink {
  /** Number of connections so far. */
  connections = 0;
  private readonly pairs = new Set<readonly [Socket, Socket]>();
  private isSilent = false;
  private readonly server = createServer((socket) => this.pass(socket));

  /** Bytes passed so far, in both directions. */
  passed = 0;

  private constructor(
    private readonly target: URL,
    private readonly bytesPerSecond: number,
  ) {}

  static async before(url: string, bytesPerSecond = Infinity): Promise<TcpLink> {
    const link = new TcpLink(new URL(url), bytesPerSecond);
    link.server.listen(0, '127.0.0.1');
    await once(link.server, 'listening');
    return link;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Resets all connections; new ones work. */
  cut(): void {
    for (const [near] of this.pairs) near.resetAndDestroy();
  }

  /** Passes no more data, on present and later connections. */
  silence(): void {
    this.isSilent = true;
    for (const sockets of this.pairs) for (const socket of sockets) socket.pause();
  }

  /** Silent connections stay silent forever; new ones work. */
  mend(): void {
    this.isSilent = false;
  }

  async close(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.cut();
    await closed;
  }

  private pass(near: Socket): void {
    this.connections++;
    const { hostname, port } = this.target;
    const far = connect(Number(port), hostname);
    const pair = [near, far] as const;
    this.pairs.add(pair);
    for (const [from, to] of [pair, [far, near] as const]) {
      from.on('data', (bytes: Buffer) => this.carry(bytes, from, to));
      from.on('error', () => undefined);
      from.on('close', () => {
        this.pairs.delete(pair);
        to.destroy();
      });
      if (this.isSilent) from.pause();
    }
  }

  private carry(bytes: Buffer, from: Socket, to: Socket): void {
    this.passed += bytes.length;
    to.write(bytes);
    if (this.bytesPerSecond === Infinity) return;
    from.pause();
    const resume = (): unknown => this.isSilent || from.resume();
    setTimeout(resume, (bytes.length * 1_000) / this.bytesPerSecond);
  }
}
