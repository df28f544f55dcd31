import type { Session } from '../api/index.js';
import { NetworkError } from '../http/index.js';
import { halves, isTooMuch, isWithoutBatches } from './batch-errors.js';
import { batchesOf, inLanes } from './lanes.js';
import type { Log } from './log.js';
import { type Failed, failureOf } from './outcomes.js';
import { Pace } from './pace.js';
import type { Transfers, Upload, Uploaded } from './transfers.js';
import { encoded, outcomeOf } from './upload-maps.js';

/** The result of one of many uploads. */
export interface UploadOutcome<U extends Upload = Upload> {
  readonly upload: U;
  readonly outcome: Uploaded | Failed;
}

/** Larger contents are uploaded one by one. */
const MOST_ITEM_BYTES = 1024 * 1024;
const MOST_ITEMS = 500;

/** Uploads many files, in batches if the service supports them. */
export class BatchUploads {
  private readonly pace = new Pace();
  private isWithout = false;

  constructor(
    private readonly session: Session,
    private readonly id: string,
    private readonly deviceId: string,
    private readonly transfers: Transfers,
    private readonly log: Log,
  ) {}

  /** @throws errors that are not about a single item: no access, no subscription, no network */
  async *run<U extends Upload>(
    uploads: Iterable<U> | AsyncIterable<U>,
    signal?: AbortSignal,
  ): AsyncGenerator<UploadOutcome<U>, void> {
    const limits = (): { items: number; bytes: number } => ({ items: MOST_ITEMS, bytes: this.pace.bytes });
    const batches = batchesOf(uploads, ({ content }) => content.length, limits);
    yield* inLanes(
      batches,
      () => this.pace.lanes,
      (batch) => this.send(batch, signal),
    );
  }

  private async send<U extends Upload>(
    batch: readonly U[],
    signal?: AbortSignal,
  ): Promise<UploadOutcome<U>[]> {
    const isAlone = (upload: U): boolean =>
      this.isWithout || batch.length === 1 || contentIn(upload) === undefined;
    const together = batch.filter((upload) => !isAlone(upload));
    const outcomes = together.length > 0 ? await this.sendTogether(together, signal) : [];
    for (const upload of batch)
      if (!together.includes(upload)) outcomes.push(await this.sendAlone(upload, signal));
    return outcomes;
  }

  private async sendTogether<U extends Upload>(
    batch: readonly U[],
    signal?: AbortSignal,
  ): Promise<UploadOutcome<U>[]> {
    try {
      const begin = this.pace.now();
      const results = await this.post(batch, signal);
      this.pace.took(
        batch.reduce((sum, { content }) => sum + content.length, 0),
        this.pace.now() - begin,
      );
      return batch.map((upload, at) => ({ upload, outcome: outcomeOf(upload, results[at]) }));
    } catch (error) {
      if (isWithoutBatches(error)) this.isWithout = true;
      else if (isTooMuch(error)) this.pace.tooMuch();
      else throw error;
      if (error instanceof NetworkError) await this.log.status(signal); // is it the network itself?
    }
    const [one, other] = halves(batch);
    if (this.isWithout) return this.send(batch, signal);
    return [...(await this.send(one, signal)), ...(await this.send(other, signal))];
  }

  private async sendAlone<U extends Upload>(upload: U, signal?: AbortSignal): Promise<UploadOutcome<U>> {
    try {
      const outcome = await this.transfers.upload(upload, signal);
      return { upload, outcome };
    } catch (error) {
      return { upload, outcome: await failureOf(error, () => this.log.status(signal)) };
    }
  }

  private async post(batch: readonly Upload[], signal?: AbortSignal): Promise<readonly unknown[]> {
    const maps = batch.map(encoded);
    const answer = await this.session.send({
      method: 'POST',
      path: `/api/v1/workspaces/${this.id}/files/batch-upload`,
      attempts: 2,
      headers: { 'content-type': 'application/cbor-seq', 'x-device-id': this.deviceId },
      body: {
        length: maps.reduce((sum, map) => sum + map.length, 0),
        // oxlint-disable-next-line typescript/require-await
        open: async function* () {
          yield* maps;
        },
      },
      signal,
    });
    const { results } = (await answer.json()) as { results?: unknown };
    return Array.isArray(results) ? (results as unknown[]) : [];
  }
}

/** The bytes of a content that fits into a batch. */
function contentIn({ content }: Upload): Uint8Array | undefined {
  return content instanceof Uint8Array && content.length <= MOST_ITEM_BYTES ? content : undefined;
}
