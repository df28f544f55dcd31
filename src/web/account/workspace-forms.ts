import { Injectable } from '@nestjs/common';
import type { Acting } from '../../domain/auth/audit/index.js';
import type { Form } from '../layout/index.js';
import { BadRequest } from '../../platform/http/index.js';
import { Workspaces } from '../../domain/workspaces/index.js';

/** A new name of a workspace that was not accepted. */
export interface RejectedWorkspaceName {
  readonly id: string;
  readonly value: string;
  readonly fault: string;
}

/** The faults in the form that deletes a workspace. */
export interface RejectedWorkspaceDeletion {
  readonly id: string;
  readonly value: string;
  readonly faults: { readonly name?: string; readonly password?: string | undefined };
}

/** The forms for workspaces on the account page. */
@Injectable()
export class WorkspaceForms {
  constructor(private readonly workspaces: Workspaces) {}

  /** Changes the name, or returns the fault in it. @throws NotFound unless it is a workspace of the user */
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

  /** The fault in the typed name, if any. @throws NotFound unless it is a workspace of the user */
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
