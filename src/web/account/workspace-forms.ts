import { Injectable } from '@nestjs/common';
import type { Acting } from '../../domain/auth/audit/index.js';
import type { Form } from '../layout/index.js';
import { BadRequest } from '../../platform/http/index.js';
import { Database } from '../../platform/database/index.js';
import { Workspaces, WorkspacesOfUser } from '../../domain/workspaces/index.js';
import { accountStatements } from '../../domain/accounts/accounts.queries.js';

/** How many workspaces are listed. */
export const MOST_WORKSPACES = 100;

/** Versions and attachments of a workspace are counted up to this number. */
export const MOST_COUNTED = 1_000;

/** A workspace with what is in it. */
export interface ListedWorkspace {
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

/** A new name of a workspace that was not accepted. */
export interface RejectedWorkspaceName {
  readonly id: string;
  readonly value: string;
  readonly fault: string;
}

/** What is wrong with the form that deletes a workspace. */
export interface RejectedWorkspaceDeletion {
  readonly id: string;
  readonly value: string;
  readonly faults: { readonly name?: string; readonly password?: string | undefined };
}

/** The workspaces on the account page. */
@Injectable()
export class WorkspaceForms {
  constructor(
    private readonly database: Database,
    private readonly workspaces: Workspaces,
    private readonly workspacesOfUser: WorkspacesOfUser,
  ) {}

  /** The newest ones. */
  async list(userId: string): Promise<ListedWorkspace[]> {
    const listed: ListedWorkspace[] = [];
    for (const { id } of await this.workspacesOfUser.newest(userId, MOST_WORKSPACES))
      listed.push(
        ...(await this.database.run<ListedWorkspace>(accountStatements.workspace, [id, MOST_COUNTED])),
      );
    return listed;
  }

  /** Changes the name, or returns what is wrong with it. @throws NotFound unless it is a workspace of the user */
  async rename(userId: string, form: Form): Promise<RejectedWorkspaceName | undefined> {
    const id = await this.workspaces.requireOwned(form.text('id'), { userId, workspaceId: null });
    const value = form.text('name');
    try {
      await this.workspaces.rename(id, value);
      return undefined;
    } catch (error) {
      if (!(error instanceof BadRequest)) throw error;
      return { id, value, fault: 'Enter a name of 1 to 255 characters.' };
    }
  }

  /** What is wrong with the typed name, if anything. @throws NotFound unless it is a workspace of the user */
  async checkName(userId: string, form: Form): Promise<RejectedWorkspaceDeletion | undefined> {
    const id = await this.workspaces.requireOwned(form.text('id'), { userId, workspaceId: null });
    const value = form.text('confirm_name');
    if (value === (await this.workspaces.get(id)).name) return undefined;
    return { id, value, faults: { name: 'This is not the name of the workspace.' } };
  }

  /** @throws NotFound unless it is a workspace of the user */
  async delete(userId: string, form: Form, by: Acting): Promise<void> {
    const id = await this.workspaces.requireOwned(form.text('id'), { userId, workspaceId: null });
    await this.workspaces.delete(id, by);
  }
}
