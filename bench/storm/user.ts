import { createHash, randomBytes } from 'node:crypto';
import { verificationHash } from '../../crypto/src/index.js';
import type { Ledger } from './ledger.js';
import type { Target } from './network.js';
import { type Answer, json, Peer, type Sent } from './peer.js';
import { mintJwt, type Person } from './person.js';
import { inTurn } from './turns.js';

export const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

const LARGE_NOTE_BYTES = 1_200_000;
const NOTES = 3;

/** An ordinary user: a workspace synced by two devices, an old workspace with a long log, and a vault read by a headless tool. */
export class User {
  workspaceId = '';
  /** The old workspace. `fillArchive` writes its log directly into the database. */
  archiveId = '';
  private token = '';
  private checkpointId = '';
  private vaultId = '';
  private readonly masterKey = randomBytes(32);
  private keySession = '';
  private readonly peer: Peer;
  /** The uploads per path, in order. One without an answer may or may not be in the log. */
  readonly uploads = new Map<string, { hash: string; isAcknowledged: boolean }[]>();

  constructor(
    readonly target: Target,
    readonly n: number,
    readonly person: Person,
    readonly ledger: Ledger,
  ) {
    this.peer = new Peer(target, 'user', n);
  }

  get bearer(): string {
    return this.token;
  }

  get path(): string {
    return `/api/v1/workspaces/${this.workspaceId}`;
  }

  /** Creates the user's workspaces, vault and notes. @throws when the service refuses any of them */
  async settle(): Promise<void> {
    await this.signOn();
    this.workspaceId = await this.makeWorkspace('synced');
    this.vaultId = await this.makeWorkspace('vault');
    this.archiveId = await this.makeWorkspace('archive');
    const salt = randomBytes(32).toString('hex');
    const setup = {
      encryptionSalt: salt,
      verificationSalt: salt,
      verificationHash: await verificationHash(this.masterKey, salt),
    };
    json(await this.askJson('POST', `/api/v1/workspaces/${this.vaultId}/setup-encryption`, setup));
    await this.openKeySession();
    for (let n = 0; n < NOTES; n++) await this.write(`note ${n}.md`, `the words of note ${n}`);
    await this.write('large.md', 'large '.repeat(LARGE_NOTE_BYTES / 6));
  }

  /** Creates a checkpoint of the archive. */
  async mark(): Promise<void> {
    const label = { encryptedLabel: 'bGFiZWw', kind: 'manual' };
    const checkpoint = await this.askJson('POST', `/api/v1/workspaces/${this.archiveId}/checkpoints`, label);
    this.checkpointId = json<{ id: string }>(checkpoint).id;
  }

  /** Sends a request and counts it. */
  async ask(kind: string, method: string, path: string, sent: Sent = {}): Promise<Answer> {
    const began = performance.now();
    const answer = await this.peer.send(method, path, { token: this.token, ...sent });
    this.ledger.answered(kind, answer, performance.now() - began);
    return answer;
  }

  askJson(method: string, path: string, body: unknown, kind = 'settle'): Promise<Answer> {
    const headers = { 'content-type': 'application/json' };
    return this.ask(kind, method, path, { headers, body: Buffer.from(JSON.stringify(body)) });
  }

  /** Runs one of a user's occasional actions, in turn. */
  async sometimes(turn: number): Promise<void> {
    const deeds = [
      () => this.refresh(),
      () => this.manifest(),
      () => this.search(),
      () => this.ask('large note', 'GET', `${this.automation}/notes/large.md`, this.withKey()),
      () => this.ask('summary', 'GET', `${this.checkpoint}/summary`),
      () => this.ask('tokens', 'GET', '/api/v1/auth/tokens'),
      () => this.ask('workspaces', 'GET', '/api/v1/workspaces'),
    ];
    await inTurn(deeds, turn)();
  }

  manifest(): Promise<Answer> {
    return this.ask('manifest', 'GET', `${this.checkpoint}/restore-manifest`);
  }

  /** Searches with a new key session, so that an index is built. Returns the answer to the key session if it was refused. */
  async search(): Promise<Answer> {
    const opened = await this.openKeySession();
    if (opened.status !== 201) return opened;
    return this.ask('search', 'GET', `${this.automation}/search?q=words`, this.withKey());
  }

  /** @returns the answer to an upload of a note */
  put(path: string, body: Buffer, deviceId: string): Promise<Answer> {
    const headers = {
      'content-type': 'application/octet-stream',
      'x-content-hash': sha256(body),
      'x-device-id': deviceId,
    };
    return this.ask('put', 'PUT', `${this.path}/files/${path}`, { headers, body });
  }

  pull(deviceId: string, cursor: number): Promise<Answer> {
    return this.askJson('POST', `${this.path}/sync/pull`, { deviceId, cursor }, 'pull');
  }

  async signOn(): Promise<void> {
    this.token = await mintJwt(this.peer, this.person);
  }

  close(): void {
    this.peer.close();
  }

  private get checkpoint(): string {
    return `/api/v1/workspaces/${this.archiveId}/checkpoints/${this.checkpointId}`;
  }

  private get automation(): string {
    return `/api/v1/automation/workspaces/${this.vaultId}`;
  }

  private withKey(): Sent {
    return { headers: { 'x-key-session': this.keySession } };
  }

  private async refresh(): Promise<void> {
    const answer = await this.ask('refresh', 'GET', '/api/auth/token', { token: this.person.session });
    if (answer.status === 200) this.token = json<{ token: string }>(answer).token;
  }

  private async openKeySession(): Promise<Answer> {
    const key = this.masterKey.toString('base64');
    const answer = await this.askJson('POST', `${this.automation}/key-sessions`, { key }, 'key session');
    if (answer.status === 201) this.keySession = json<{ keySession: string }>(answer).keySession;
    return answer;
  }

  private async write(path: string, content: string): Promise<void> {
    const headers = { 'content-type': 'application/json', 'x-key-session': this.keySession };
    const body = Buffer.from(JSON.stringify({ path, content }));
    json(await this.ask('settle', 'POST', `${this.automation}/notes`, { headers, body }));
  }

  private async makeWorkspace(name: string): Promise<string> {
    return json<{ id: string }>(await this.askJson('POST', '/api/v1/workspaces', { name })).id;
  }
}
