import { Injectable } from '@nestjs/common';
import type { Acting } from '../../domain/auth/audit/index.js';
import { type BrowserSession, Users } from '../../domain/auth/index.js';
import type { Form } from '../layout/index.js';
import { BadRequest } from '../../platform/http/index.js';
import { AccountDeletion } from '../../domain/accounts/index.js';

/** A new name that was not accepted. */
export interface RejectedName {
  readonly value: string;
  readonly fault: string;
}

/** The fault in the password of a form that has no other field. */
export interface RejectedPassword {
  readonly fault: string | undefined;
}

/** The faults in the form that deletes the account. */
export interface RejectedDeletion {
  readonly value: string;
  readonly faults: { readonly email?: string; readonly password?: string | undefined };
}

const WRONG_ADDRESS = 'This is not the address of the account.';

/** The forms for the account itself. */
@Injectable()
export class ProfileForms {
  constructor(
    private readonly users: Users,
    private readonly deletion: AccountDeletion,
  ) {}

  /** Changes the name, or returns the fault in it. */
  async rename({ userId }: BrowserSession, form: Form): Promise<RejectedName | undefined> {
    const value = form.text('name');
    try {
      await this.users.rename(userId, value);
      return undefined;
    } catch (error) {
      if (!(error instanceof BadRequest)) throw error;
      return { value, fault: 'Enter a name of 1 to 255 characters.' };
    }
  }

  /** The fault in the typed address, if any. Checked before the password, which a wrong address must not ask for. */
  checkAddress({ email }: BrowserSession, form: Form): RejectedDeletion | undefined {
    const value = form.text('confirm_email');
    if (value.toLowerCase() === email.toLowerCase()) return undefined;
    return { value, faults: { email: WRONG_ADDRESS } };
  }

  /** Deletes the account at once. The typed address is checked again with the account's, which may have changed meanwhile. */
  async delete({ userId }: BrowserSession, form: Form, by: Acting): Promise<RejectedDeletion | undefined> {
    const value = form.text('confirm_email');
    try {
      await this.deletion.delete(userId, value, by);
      return undefined;
    } catch (error) {
      if (!(error instanceof BadRequest)) throw error;
      return { value, faults: { email: WRONG_ADDRESS } };
    }
  }
}
