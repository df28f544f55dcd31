import { RemoteUnavailable, TransferFailed } from '../../../client/src/folder/errors.js';
import type {
  Deletion,
  Download,
  OpenedDownload,
  Pulled,
  Pushed,
  Remote,
  SnapshotPage,
  Upload,
  Uploaded,
  Wanted,
} from '../../../client/src/folder/ports.js';
import type { SimulatedServer } from './server.js';
import type { Steps } from './steps.js';

/** A network to the server that loses requests and answers, and cuts batches anywhere. */
export class SimulatedNetwork implements Remote {
  constructor(
    private readonly server: SimulatedServer,
    private readonly steps: Steps,
    private readonly device: () => string,
    /** Failing requests in a hundred. */
    private readonly faults: number,
  ) {}

  pull(cursor: number): Promise<Pulled> {
    return this.exchange(() => this.server.pull(cursor));
  }

  snapshot(pageCursor: string | undefined): Promise<SnapshotPage> {
    return this.exchange(() => this.server.snapshot(Number(pageCursor ?? 0)));
  }

  push(baseCursor: number, deletions: readonly Deletion[]): Promise<Pushed> {
    return this.exchange(() => this.server.push(this.device(), baseCursor, deletions));
  }

  async *downloadMany(items: readonly Wanted[]): AsyncIterable<Download> {
    for (const { encryptedPath } of items) {
      yield await this.exchange((): Download => {
        const version = this.server.download(encryptedPath);
        if (!version) return { encryptedPath, status: 'missing', reason: 'the server does not have it' };
        return { encryptedPath, status: 'found', ...version };
      });
    }
  }

  async openDownload({ encryptedPath }: Wanted): Promise<OpenedDownload> {
    const version = await this.exchange(() => this.server.download(encryptedPath));
    if (!version) return { encryptedPath, status: 'missing', reason: 'the server does not have it' };
    const { contentHash, envelope } = version;
    const opened = { encryptedPath, contentHash, encryptedSize: envelope.length, cancel: () => undefined };
    return { ...opened, status: 'found', envelope: this.halves(envelope) };
  }

  private async *halves(envelope: Uint8Array): AsyncIterable<Uint8Array> {
    const middle = this.steps.random.below(envelope.length);
    yield envelope.subarray(0, middle);
    await this.steps.next();
    if (this.goesWrong()) throw new RemoteUnavailable('the download was cut');
    if (this.goesWrong()) throw new TransferFailed('the content cannot be read');
    yield envelope.subarray(middle);
  }

  async *uploadMany(items: readonly Upload[]): AsyncIterable<Uploaded> {
    const isCut = this.goesWrong();
    const arriving = isCut ? this.steps.random.below(items.length + 1) : items.length;
    const answered = isCut ? this.steps.random.below(arriving + 1) : items.length;
    const answers = [];
    for (const item of items.slice(0, arriving)) {
      await this.steps.next();
      const envelope = await sent(item.envelope);
      answers.push(this.server.upload(this.device(), { ...item, envelope }));
    }
    for (const answer of answers.slice(0, answered)) {
      await this.steps.next();
      yield answer;
    }
    if (isCut) throw new RemoteUnavailable('the connection was cut');
  }

  private async exchange<T>(request: () => T): Promise<T> {
    await this.steps.next();
    const isLost = this.goesWrong();
    if (isLost && this.steps.random.next() < 0.5) throw new RemoteUnavailable('the request was lost');
    const answer = request();
    await this.steps.next();
    if (isLost) throw new RemoteUnavailable('the answer was lost');
    return answer;
  }

  private goesWrong(): boolean {
    return this.steps.random.below(100) < this.faults;
  }
}

async function sent(envelope: Upload['envelope']): Promise<Uint8Array> {
  if (envelope instanceof Uint8Array) return envelope;
  const parts: Uint8Array[] = [];
  for await (const part of envelope.open()) parts.push(part);
  return Buffer.concat(parts);
}
