import { Injectable } from '@nestjs/common';
import { VERSION } from '../../../platform/config/index.js';
import { Clock } from '../../../platform/clock/index.js';
import { Database } from '../../../platform/database/index.js';
import { Unauthorized } from '../../../platform/http/index.js';
import { WorkspacesOfUser } from '../../workspaces/index.js';
import { ACCOUNT_LISTS } from './account-lists.js';
import { type Entry, tarOf, textEntry } from './archive.js';
import { ExportLists } from './export-lists.js';
import { exportStatements } from './export.queries.js';
import { README } from './readme.js';
import { type ExportedWorkspace, WorkspaceExport } from './workspace-export.js';

/** Everything that the service holds of an account, without secrets: docs/reference/export-format.md has the format. */
@Injectable()
export class AccountExport {
  constructor(
    private readonly database: Database,
    private readonly lists: ExportLists,
    private readonly workspacesOfUser: WorkspacesOfUser,
    private readonly workspaceExport: WorkspaceExport,
    private readonly clock: Clock,
  ) {}

  /**
   * The bytes of the tar, read at the pace of their reader. An error ends them before the manifest.
   * @throws Unauthorized when the account does not exist
   */
  async begin(userId: string): Promise<AsyncGenerator<Buffer, void>> {
    const [account] = await this.database.run<object>(exportStatements.account, [userId]);
    if (!account) throw new Unauthorized();
    const listed = await this.workspacesOfUser.oldest(userId);
    const exportedAt = this.clock.now();
    const workspaces: ExportedWorkspace[] = [];
    const manifest = (): object => ({
      format: 'account-export',
      formatVersion: 1,
      serviceVersion: VERSION,
      accountId: userId,
      exportedAt,
      workspaces,
    });
    return tarOf(this.entries(userId, account, listed, workspaces), manifest, exportedAt);
  }

  private async *entries(
    userId: string,
    account: object,
    listed: readonly { readonly id: string }[],
    workspaces: ExportedWorkspace[],
  ): AsyncGenerator<Entry, void> {
    yield textEntry('README.txt', README);
    yield textEntry('account.json', `${JSON.stringify(account, null, 1)}\n`);
    for (const [name, list] of ACCOUNT_LISTS) yield* this.lists.files(userId, userId, name, list);
    for (const { id } of listed) {
      const exported = yield* this.workspaceExport.entries(userId, id);
      if (exported) workspaces.push(exported);
    }
    await this.lists.checkStillAllowed(userId);
  }
}
