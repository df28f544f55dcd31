import { codesOf, STEP_MS } from '../second-factor.js';
import { TestUser } from '../user.js';
import type { Stage } from './stage.js';
import { PASSWORD, type Walk } from './walk.js';

/** An operator at the admin page. */
export class OperatorTour {
  private code: () => string = () => '';
  private readonly email: string;
  private readonly person: string;

  constructor(
    private readonly stage: Stage,
    private readonly walk: Walk,
    /** The domain of all addresses. */
    private readonly domain: string,
  ) {
    this.email = `olive@${domain}`;
    this.person = `mary@${domain}`;
  }

  /** The admin command grants the rights; the second factor is set up on the account page. */
  async becomeAdministrator(): Promise<void> {
    const { stage, walk, email } = this;
    await stage.createAccount(email, 'Olive Operator');
    await stage.admin('user', 'promote', email);
    await walk.open('/account');
    await walk.signIn(email);
    await walk.unfold('Set up the second factor');
    await walk.press('Begin');
    await walk.see('Scan this');
    this.code = codesOf(stage.service, await walk.page.locator('input[name=uri]').inputValue());
    await walk.fill('Confirm the second factor', { 'Code that the app shows': this.code() });
    await walk.press('Turn on the second factor');
    await walk.follow('I have saved them');
    await walk.see('You are an administrator');
  }

  /** @returns the link of the invitation */
  async invite(address: string): Promise<string> {
    const { walk } = this;
    await walk.open('/admin/invitations');
    await walk.fill('Invite', { 'Email address': address });
    await walk.press('Invite', 'Invite');
    await walk.see('It is not shown again');
    return walk.page.locator('#link').inputValue();
  }

  async lookAtInvitations(): Promise<void> {
    const { walk } = this;
    await this.invite(`caroline@${this.domain}`);
    await walk.look('admin-invited');
    await walk.follow('Back to the invitations');
    await walk.see('Open invitations');
    await walk.look('admin-invitations');
    await walk.press('Revoke', `Revoke the invitation of caroline@${this.domain}`);
    await walk.see('There is none.');
  }

  async find(): Promise<void> {
    const { stage, walk, person } = this;
    for (const name of ['Emmy Noether', 'Grace Hopper', 'Mary Somerville']) {
      const [firstName = ''] = name.toLowerCase().split(' ');
      const user = await TestUser.logIn(stage.service.url, name, `${firstName}@${this.domain}`);
      await user.post('/api/v1/subscription/trial');
      await user.workspace('Notes');
    }
    await walk.open('/account');
    await walk.follow('Administration');
    await walk.see(person);
    await walk.look('admin-accounts');
    await walk.page.getByLabel('Address or name').fill('mary');
    await walk.press('Search');
    await walk.follow(person);
    await walk.page.getByRole('heading', { name: 'Access', exact: true }).waitFor();
    await walk.look('admin-account');
  }

  /** @param other a browser of the suspended person */
  async suspendAndResume(other: Walk): Promise<void> {
    const { walk, person } = this;
    await walk.press('Reset the password');
    await walk.see('It is not shown again');
    const password = await walk.page.locator('#new-password').inputValue();
    await walk.look('admin-password');
    await walk.follow('Back to the account');
    await walk.press('Suspend');
    await walk.see('The account is suspended.');
    await walk.look('admin-suspended');
    await other.open('/account');
    await other.signIn(person, password);
    await other.see('This account is suspended');
    await other.look('sign-in-suspended');
    await walk.press('Resume');
    await walk.see('The account is active again');
    await walk.look('admin-resumed');
    await other.open('/account');
    await other.signIn(person, password);
    await other.see('Plan and storage');
    await walk.press('Remove the second factor and passkeys');
    await walk.page.getByRole('status').waitFor();
    await walk.look('admin-factors');
  }

  async deleteAccount(): Promise<void> {
    const { walk, person } = this;
    await walk.fill('Delete the account', { 'The address of the account': 'another@example.org' });
    await walk.press('Delete the account');
    await walk.see('Confirm must be the email address');
    await walk.look('admin-deletion-rejected');
    await walk.page.goBack();
    await walk.fill('Delete the account', { 'The address of the account': person });
    await walk.press('Delete the account');
    await walk.page.getByRole('status').waitFor();
    await walk.look('admin-deleted');
  }

  async readAudit(): Promise<void> {
    const { walk } = this;
    await walk.follow('Audit');
    await walk.page.getByRole('heading', { name: 'Audit log' }).waitFor();
    await walk.look('admin-audit');
  }

  /** Health, jobs, doctor, and the kill switch on and off. */
  async operate(): Promise<void> {
    const { stage, walk } = this;
    await walk.follow('Service');
    await walk.press('Start a check');
    await stage.service.database.eventually('SELECT 1 FROM doctor_runs WHERE ended_at IS NOT NULL');
    await stage.service.database.query(
      `INSERT INTO job_runs (name, started_at, ended_at, counts, error)
       VALUES ('sessions', now(), now(), '{"removed": 12}', null), ('retention', now(), now(), '{}', 'Error: disk full')`,
    );
    await walk.page.getByLabel('Mode').selectOption('read-only');
    await walk.press('Set the kill switch', 'Set the kill switch');
    await walk.see('It is read-only');
    await walk.look('admin-service');
    await walk.page.getByLabel('Mode').selectOption('off');
    await walk.press('Set the kill switch', 'Set the kill switch');
    await walk.see('It is off');
    stage.service.clock.advance(11 * 60_000);
    await walk.follow('Accounts');
    await walk.see('You signed in more than ten minutes ago.');
    await walk.look('admin-confirm');
    stage.service.clock.advance(STEP_MS);
    await walk.fill('Confirm that it is you', { 'Your password': PASSWORD });
    await walk.press('Continue');
    await walk.page.getByRole('heading', { name: 'Accounts' }).waitFor();
  }
}
