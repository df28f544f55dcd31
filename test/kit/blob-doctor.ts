import { writeFile, mkdir, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Doctor, type Finding } from '../../src/platform/doctor.js';
import type { TestService, TestWorkspace } from './index.js';

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;

/** A service whose blobs a doctor examines. Each suite sets service and notes for each test. */
export class Examined {
  service!: TestService;
  notes!: TestWorkspace;

  async examine(
    how: { isDeep?: boolean; fix?: boolean; inMs?: number } = {},
    at = this.service,
  ): Promise<Finding[]> {
    const { isDeep = false, fix = false, inMs = 0 } = how;
    const now = new Date(at.clock.now().getTime() + inMs);
    const findings: Finding[] = [];
    for await (const finding of at.app.get(Doctor).examine({ now, isDeep, fix })) findings.push(finding);
    return findings;
  }

  async keyOf(path: string): Promise<string> {
    const [row] = await this.service.database.query<{ key: string }>(
      `SELECT b.workspace_id || '/' || b.id AS key FROM files f
     JOIN versions v ON v.workspace_id = f.workspace_id AND v.file_id = f.id
     JOIN blobs b ON b.workspace_id = v.workspace_id AND b.id = v.blob_id
     WHERE f.encrypted_path = $1`,
      [path],
    );
    return row!.key;
  }

  onDisk(key: string): string {
    const [workspace = '', id = ''] = key.split('/');
    return join(this.service.dataDir, 'blobs', workspace, id.slice(-2), id);
  }

  async plant(key: string, bytes: Buffer, age = 2 * HOUR): Promise<void> {
    await mkdir(dirname(this.onDisk(key)), { recursive: true });
    await writeFile(this.onDisk(key), bytes);
    const then = new Date(Date.now() - age);
    await utimes(this.onDisk(key), then, then);
  }
}
