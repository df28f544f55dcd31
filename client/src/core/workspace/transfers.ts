import type { Session } from '../api/index.js';
import { ApiError, chunksIn, collect, InvalidAnswer, NetworkError, type RequestBody } from '../http/index.js';
import { checkFile, isCount, isHash, type RemoteFile } from './checks.js';
import { ContentMismatch } from './errors.js';
import { hashing } from './hashing.js';

/** A content to upload. */
export interface Upload {
  readonly encryptedPath: string;
  /** SHA-256 of the envelope, in hex */
  readonly contentHash: string;
  /** The envelope: its bytes, or a stream of them. */
  readonly content: Exclude<RequestBody, string>;
  /** Content hash of the version that it replaces; null: the path must be new; undefined: replaces any version. */
  readonly base?: string | null;
}

/** The result of an upload that was not refused. */
export type Uploaded = { readonly kind: 'stored'; readonly version: number } | { readonly kind: 'outdated' };

/** A content at the service; `chunks` ends with ContentMismatch when it does not match its hash. */
export interface OpenedDownload {
  readonly contentHash: string;
  readonly encryptedSize: number;
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Call it when `chunks` are not read. */
  readonly cancel: () => void;
}

export interface Downloaded {
  readonly contentHash: string;
  readonly content: Uint8Array<ArrayBuffer>;
}

const RESUMPTIONS = 10;

/** Uploads and downloads of single files. */
export class Transfers {
  constructor(
    private readonly session: Session,
    private readonly id: string,
    private readonly deviceId: string,
  ) {}

  /** @returns `outdated`, with nothing changed, when the service's version is not `base` */
  async upload(upload: Upload, signal?: AbortSignal): Promise<Uploaded> {
    const { encryptedPath, contentHash, content, base } = upload;
    const headers = {
      'content-type': 'application/octet-stream',
      'x-content-hash': contentHash,
      'x-device-id': this.deviceId,
      ...(base === null && { 'if-none-match': '*' }),
      ...(typeof base === 'string' && { 'if-match': `"${base}"` }),
    };
    const request = {
      method: 'PUT',
      path: this.path(encryptedPath),
      headers,
      body: content,
      signal,
    } as const;
    try {
      const file = (await (await this.session.send(request)).json()) as RemoteFile;
      checkFile(file);
      if (file.contentHash !== contentHash || file.encryptedPath !== encryptedPath)
        throw new InvalidAnswer('the service has stored something else than was sent');
      return { kind: 'stored', version: file.version };
    } catch (error) {
      if (error instanceof ApiError && error.status === 412) return { kind: 'outdated' };
      throw error;
    }
  }

  /** The newest content, or that of a version. @throws ApiError 404; ContentMismatch */
  async download(encryptedPath: string, versionId?: string, signal?: AbortSignal): Promise<Downloaded> {
    const { contentHash, chunks } = await this.open(encryptedPath, versionId, signal);
    return { contentHash, content: await collect(chunks) };
  }

  /**
   * Starts a download that resumes after an interruption, as long as the content stays the same.
   * @throws ApiError 404
   */
  async open(encryptedPath: string, versionId?: string, signal?: AbortSignal): Promise<OpenedDownload> {
    const path = this.path(encryptedPath) + (versionId === undefined ? '' : `/versions/${versionId}`);
    const first = await this.session.send({ method: 'GET', path, streams: true, signal });
    const contentHash = first.headers.get('etag')?.replaceAll('"', '');
    const encryptedSize = Number(first.headers.get('content-length') ?? Number.NaN);
    if (!isHash(contentHash) || !isCount(encryptedSize))
      throw new InvalidAnswer('the service does not say which content it sends');
    const content = { contentHash, encryptedSize };
    const cancel = (): void => void first.body?.cancel().catch(() => undefined);
    return { ...content, chunks: hashing(this.resumed(path, first, content, signal), contentHash), cancel };
  }

  private async *resumed(
    path: string,
    first: Response,
    { contentHash, encryptedSize }: Omit<OpenedDownload, 'chunks' | 'cancel'>,
    signal?: AbortSignal,
  ): AsyncGenerator<Uint8Array, void> {
    let answer = first;
    for (let received = 0, failures = 0; ;) {
      const before = received;
      try {
        for await (const chunk of chunksIn(answer.body)) {
          received += chunk.length;
          if (received > encryptedSize)
            throw new ContentMismatch('the content is larger than the service said');
          yield chunk;
        }
        return;
      } catch (error) {
        failures = received > before ? 0 : failures + 1;
        if (!(error instanceof NetworkError) || failures > RESUMPTIONS) throw error;
      }
      const headers = { range: `bytes=${received}-`, 'if-range': `"${contentHash}"` };
      answer = await this.session.send({ method: 'GET', path, headers, streams: true, signal });
      if (answer.status !== 206) throw new ContentMismatch('the file has been changed during its download');
    }
  }

  private path(encryptedPath: string): string {
    return `/api/v1/workspaces/${this.id}/files/${encryptedPath}`;
  }
}
