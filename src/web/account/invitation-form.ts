import { Injectable } from '@nestjs/common';
import { BrowserSessions, faultOfPassword, PASSWORD_FAULTS, PasswordHasher } from '../../domain/auth/index.js';
import { type BrowserRequest, type Form, withAlert } from '../layout/index.js';
import { asName } from '../../platform/http/index.js';
import type { RejectedInvitee } from './invitation-page.js';
import { Invitations } from '../../domain/accounts/index.js';

/** `unknown`: the link does not work. Cookies: the account is made, and signed in if there are any. */
type Answer = 'unknown' | { readonly cookies: readonly string[] } | RejectedInvitee;

/** The form behind an invitation's link. */
@Injectable()
export class InvitationForm {
  constructor(
    private readonly invitations: Invitations,
    private readonly hasher: PasswordHasher,
    private readonly browserSessions: BrowserSessions,
  ) {}

  async submit(form: Form, { client }: BrowserRequest): Promise<Answer> {
    const token = form.text('token');
    const password = form.get('password') ?? '';
    const entered = form.text('name');
    // Checked before the password is hashed, which is expensive; checked again when the account is made.
    if ((await this.invitations.addressOf(token)) === undefined) return 'unknown';
    const name = asName(entered);
    const fault = await faultOfPassword(password);
    if (name === undefined || fault) {
      const faults = {
        ...(name === undefined ? { name: 'Enter a name of 1 to 255 characters.' } : {}),
        ...(fault ? { password: PASSWORD_FAULTS[fault] } : {}),
      };
      return { name: entered, faults };
    }
    try {
      const passwordHash = await this.hasher.hash(password, client.ip);
      const made = await this.invitations.accept(token, { name, passwordHash }, { actor: 'user', ...client });
      if (typeof made === 'string') return 'unknown';
      return { cookies: await this.signIn(made.email, password, client) };
    } catch (error) {
      return { name: entered, faults: {}, alert: withAlert(error).alert };
    }
  }

  /** The account exists by now, so a sign-in that is refused, as after too many tries, only leaves the browser signed out. */
  private async signIn(
    email: string,
    password: string,
    client: BrowserRequest['client'],
  ): Promise<readonly string[]> {
    try {
      const entered = await this.browserSessions.signIn(email, password, client);
      return 'refusal' in entered ? [] : entered.cookies;
    } catch (error) {
      withAlert(error);
      return [];
    }
  }
}
