import type { ChildProcess } from 'node:child_process';
import {
  decryptAsset,
  decryptContent,
  decryptLabel,
  deriveVaultKeys,
  encryptAsset,
  encryptAssetName,
  encryptContent,
  encryptLabel,
  encryptPath,
  type VaultKeys,
} from '../../crypto/src/index.js';
import { TestAssets } from './assets.js';
import { type TestService, type TestUser, TestWorkspace } from './index.js';
import { Random } from './random.js';
import { PASSWORD, type VaultCommand } from './vault-command.js';

/** A vault with history, and its expected content. */
export class VaultWorld {
  private readonly histories = new Map<string, string[]>();
  private readonly alive = new Map<string, string>();
  private readonly checkpoints: [string, Map<string, string>][] = [];
  private readonly assets = new Map<string, string>();
  private changes = 0;

  private constructor(
    private readonly service: TestService,
    private readonly workspace: TestWorkspace,
    private readonly keys: VaultKeys,
  ) {}

  static async fill(command: VaultCommand, user: TestUser, id: string, notes: number): Promise<VaultWorld> {
    const { masterKey } = await command.unlock(user, id, PASSWORD);
    const keys = await deriveVaultKeys(masterKey);
    const world = new VaultWorld(command.service, new TestWorkspace(user, id), keys);
    const random = new Random(7);
    for (let write = 0; write < notes * 3; write++) {
      const path = `folder ${write % 7}/n\u00f6te ${write < notes ? write : Math.floor(random.next() * notes)}.md`;
      if (write > notes && random.next() < 0.15 && world.alive.has(path)) await world.remove(path);
      else await world.write(path, `${write} ${'x'.repeat(Math.floor(random.next() * 2_000))}`);
      if (write % notes === Math.floor(notes / 2)) await world.mark(`checkpoint ${write} \u2013 na\u00efve`);
    }
    await world.mark('the end');
    for (let asset = 0; asset < 5; asset++) await world.attach(`picture ${asset}.png`, `pixels ${asset}`);
    return world;
  }

  /** Waits until the new workspace has this part of the changes, or the child has ended. */
  hasChanges(part: number, child: ChildProcess): Promise<void> {
    return this.until('head_cursor::int', Math.ceil(this.changes * part), child);
  }

  hasAssets(child: ChildProcess): Promise<void> {
    const count = '(SELECT count(*) FROM assets a WHERE a.workspace_id = w.id)::int';
    return this.until(count, this.assets.size, child);
  }

  private async until(count: string, enough: number, child: ChildProcess): Promise<void> {
    const sql = `SELECT max(${count}) AS count FROM workspaces w WHERE user_id = $1 AND id <> $2 AND deleted_at IS NULL`;
    while (child.exitCode === null) {
      const rows = await this.service.database.query(sql, [this.workspace.user.id, this.workspace.id]);
      if (((rows[0] as { count: number | null }).count ?? 0) >= enough) return;
    }
  }

  async expectIn(workspace: TestWorkspace, keys: VaultKeys): Promise<void> {
    for (const [path, contents] of this.histories) {
      const encryptedPath = encryptPath(keys, path);
      const versions = (await workspace.versions(encryptedPath)).toReversed();
      const found: string[] = [];
      for (const { id } of versions) found.push(await this.contentOf(workspace, keys, encryptedPath, id));
      expect([path, found]).toEqual([path, contents]);
      const { status, body } = await workspace.get(encryptedPath);
      const current =
        status === 200
          ? Buffer.from(await decryptContent(keys, encryptedPath, body as Buffer)).toString()
          : undefined;
      expect(current).toBe(this.alive.get(path));
    }
    const { body } = await workspace.user.get(`${workspace.path}/checkpoints`).expect(200);
    const listed = (body.checkpoints as { id: string; encryptedLabel: string }[]).toReversed();
    const labels = await Promise.all(listed.map(({ encryptedLabel }) => decryptLabel(keys, encryptedLabel)));
    expect(labels).toEqual(this.checkpoints.map(([label]) => label));
    for (const [index, [, state]] of this.checkpoints.entries())
      for (const path of this.histories.keys())
        expect(await this.noteAt(workspace, keys, listed[index]!.id, path)).toBe(state.get(path));
    for (const [name, content] of this.assets) {
      const token = encryptAssetName(keys, name);
      const { text } = await workspace.user
        .get(`/api/assets/${token}`)
        .set('X-Workspace-Id', workspace.id)
        .expect(200);
      const asset = await decryptAsset(keys, Buffer.from(text, 'base64'));
      expect(Buffer.from(asset).toString()).toBe(content);
    }
    const list = await workspace.user.get('/api/assets/list').set('X-Workspace-Id', workspace.id).expect(200);
    expect(list.body).toHaveLength(this.assets.size);
  }

  private async noteAt(
    workspace: TestWorkspace,
    keys: VaultKeys,
    checkpoint: string,
    path: string,
  ): Promise<string | undefined> {
    const encPath = encryptPath(keys, path);
    const { body } = await workspace.user
      .get(`${workspace.path}/checkpoints/${checkpoint}/note-state`)
      .query({ encPath })
      .expect(200);
    return body.absent ? undefined : this.contentOf(workspace, keys, encPath, body.versionId);
  }

  private async contentOf(
    workspace: TestWorkspace,
    keys: VaultKeys,
    encryptedPath: string,
    versionId: string,
  ): Promise<string> {
    const { body } = await workspace.version(encryptedPath, versionId).expect(200);
    return Buffer.from(await decryptContent(keys, encryptedPath, body as Buffer)).toString();
  }

  async write(path: string, content: string): Promise<void> {
    const encryptedPath = encryptPath(this.keys, path);
    const envelope = await encryptContent(this.keys, encryptedPath, Buffer.from(content));
    const { status } = await this.workspace.put(encryptedPath, Buffer.from(envelope));
    expect([200, 201]).toContain(status);
    this.histories.set(path, [...(this.histories.get(path) ?? []), content]);
    this.alive.set(path, content);
    this.changes++;
  }

  private async remove(path: string): Promise<void> {
    await this.workspace.delete(encryptPath(this.keys, path)).expect(200);
    this.alive.delete(path);
    this.changes++;
  }

  private async mark(label: string): Promise<void> {
    await this.workspace.user
      .post(`${this.workspace.path}/checkpoints`)
      .send({ encryptedLabel: await encryptLabel(this.keys, label), kind: 'manual' })
      .expect(201);
    this.checkpoints.push([label, new Map(this.alive)]);
  }

  private async attach(name: string, content: string): Promise<void> {
    const envelope = Buffer.from(await encryptAsset(this.keys, Buffer.from(content)));
    await TestAssets.of(this.workspace).create(encryptAssetName(this.keys, name), envelope).expect(201);
    this.assets.set(name, content);
  }
}
