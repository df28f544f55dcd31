import { dataOf, type Session } from '../api/index.js';
import { type Bytes, fromBase64, toBase64 } from '../crypto/index.js';
import { InvalidAnswer } from '../http/index.js';

/** An attachment. Its token is the encrypted name. */
export interface Asset {
  readonly encryptedFilename: string;
  /** Size of the envelope. */
  readonly sizeBytes: number;
  /** Milliseconds since 1970. */
  readonly uploadedAt: number;
}

const MOST_BYTES = 25 * 1024 * 1024 + 61;
const MOST_CHARACTERS = Math.ceil(MOST_BYTES / 3) * 4;

/** The attachments of a workspace. They have no versions, and are not in the change log. */
export class Assets {
  private readonly header: { readonly 'X-Workspace-Id': string };

  constructor(
    private readonly session: Session,
    workspaceId: string,
  ) {
    this.header = { 'X-Workspace-Id': workspaceId };
  }

  /** Newest first. */
  async list(): Promise<readonly Asset[]> {
    return dataOf(this.session.api.GET('/api/assets/list', { params: { header: this.header } }));
  }

  /**
   * Uploads an envelope of at most 25 MiB and 61 bytes. Stores it once, even if an answer is lost.
   * @throws ApiError 409 for a token that is taken, 507 when there is no room
   */
  async upload(token: string, envelope: Uint8Array): Promise<void> {
    await this.session.send({
      method: 'POST',
      path: '/api/assets',
      headers: { ...this.header, 'content-type': 'application/json', 'idempotency-key': crypto.randomUUID() },
      body: JSON.stringify({ encryptedFilename: token, data: toBase64(envelope) }),
      repeatable: true,
    });
  }

  /** Returns the envelope. @throws ApiError 404; InvalidAnswer when the answer is not an envelope */
  async download(token: string): Promise<Bytes> {
    const path = `/api/assets/${encodeURIComponent(token)}`;
    const text = await (await this.session.send({ method: 'GET', path, headers: this.header })).text();
    try {
      if (text.length <= MOST_CHARACTERS) return fromBase64(text);
    } catch (cause) {
      throw new InvalidAnswer('the asset is not base64', { cause });
    }
    throw new InvalidAnswer('the asset is larger than one can be');
  }

  /** Not repeated after a lost answer. @throws ApiError 404 without the asset, 409 when the other token is taken */
  async rename(token: string, newEncryptedFilename: string): Promise<void> {
    const params = { path: { token }, header: this.header };
    await this.session.api.PATCH('/api/assets/{token}', { params, body: { newEncryptedFilename } });
  }

  /** Does nothing when the asset does not exist. */
  async delete(token: string): Promise<void> {
    const params = { path: { token }, header: this.header };
    await this.session.api.DELETE('/api/assets/{token}', { params });
  }
}
