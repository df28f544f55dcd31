import { Injectable } from '@nestjs/common';
import { Database } from '../../platform/database/index.js';
import { WorkspacesOfUser } from '../workspaces/index.js';
import { accountStatements } from './accounts.queries.js';

/** The most workspaces that are listed. */
export const MOST_WORKSPACES = 100;

/** Versions and attachments of a workspace are counted up to this number. */
export const MOST_COUNTED = 1_000;

/** A workspace with what is in it. */
export interface WorkspaceContents {
  readonly id: string;
  readonly name: string;
  /** Live files. */
  readonly files: number;
  /** Bytes of all versions. */
  readonly documentBytes: number;
  /** Above `MOST_COUNTED`, one more than it; so are `assets`. */
  readonly versions: number;
  readonly assets: number;
  /** Bytes of the counted attachments. */
  readonly assetBytes: number;
  readonly createdAt: Date;
  /** When a file was last changed; null for an empty workspace. */
  readonly changedAt: Date | null;
}

/** What the workspaces of an account contain. */
@Injectable()
export class ContentsOfWorkspaces {
  constructor(
    private readonly database: Database,
    private readonly workspacesOfUser: WorkspacesOfUser,
  ) {}

  /** The newest workspaces, at most `MOST_WORKSPACES`. */
  async of(userId: string): Promise<WorkspaceContents[]> {
    const listed: WorkspaceContents[] = [];
    for (const { id } of await this.workspacesOfUser.newest(userId, MOST_WORKSPACES))
      listed.push(
        ...(await this.database.run<WorkspaceContents>(accountStatements.workspace, [id, MOST_COUNTED])),
      );
    return listed;
  }
}
