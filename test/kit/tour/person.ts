import { Users } from '../../../src/domain/auth/index.js';
import type { ReceivedMail } from '../smtp.js';
import { codesOf, STEP_MS } from '../second-factor.js';
import { TestUser } from '../user.js';
import { EDITOR, linkIn, type Stage } from './stage.js';
import { PASSWORD, type Walk } from './walk.js';

const STATE = 'client_state=pNoQ5fO9Wc7n1m2xJ0b8sA';
export const DESKTOP = `/auth/desktop-handoff?${STATE}&scheme=cloudsync-desktop`;
export const WEB = `/auth/web-handoff?${STATE}&return_to=${encodeURIComponent(EDITOR)}`;

const NEW_PASSWORD = 'a staple for the horse battery';
const LAST_PASSWORD = 'no more staples in this battery';

/** A user with an account, from the mail with the invitation to the deletion of the account. */
export class PersonTour {
  private email: string;
  private password = PASSWORD;
  private code: () => string = () => '';
  private backupCodes: string[] = [];

  constructor(
    private readonly stage: Stage,
    private readonly walk: Walk,
    /** The domain of all addresses. */
    private readonly domain: string,
  ) {
    this.email = `ada@${domain}`;
  }

  /** @param link from an administrator */
  async acceptInvitation(link: string): Promise<void> {
    const { walk } = this;
    await walk.open(link);
    await walk.see('Make your account');
    await walk.look('invitation');
    await walk.fill('Make your account', { Name: 'Grace Hopper', Password: PASSWORD });
    await walk.press('Make the account');
    await walk.page.getByRole('heading', { name: 'Grace Hopper' }).waitFor();
    await walk.signOut();
  }

  async signUp(): Promise<void> {
    const { walk, email } = this;
    await walk.open('/account');
    await walk.look('sign-in');
    await walk.unfold('New here?');
    await walk.look('sign-up');
    await walk.fill('Sign up', { Name: 'Ada Lovelace', 'Email address': email, Password: PASSWORD });
    await walk.press('Sign up', 'Sign up');
    await walk.see('A mail was sent to');
    await walk.look('check-mail');
    await walk.press('Send another mail');
    await walk.see('another mail is on its way');
    await walk.look('check-mail-again');
    const mail = await this.readMail('mail-verify', email, 'Confirm your email address', 2); // the newer link replaces the older one
    await walk.open(linkIn(mail));
    await walk.see('is the account yours?');
    await walk.look('verify');
    await walk.fill('Confirm', { 'Password of the account': PASSWORD });
    await walk.press('Confirm the address');
    await walk.see('Your address is confirmed');
    await walk.look('verified');
    await walk.follow('Go to your account');
    await walk.signIn(email, 'not the password');
    await walk.see('is wrong');
    await walk.look('sign-in-rejected');
    await walk.signIn(email);
    await walk.see('Plan and storage');
    await walk.look('account-new');
    await walk.press('Start the trial');
    await walk.see('Trial until');
  }

  async setUpFactor(): Promise<void> {
    const { stage, walk } = this;
    await walk.unfold('Set up the second factor');
    await walk.press('Begin');
    await walk.see('Scan this');
    this.code = codesOf(stage.service, await walk.page.locator('input[name=uri]').inputValue());
    await walk.look('factor-set-up');
    await walk.fill('Confirm the second factor', { 'Code that the app shows': '000000' });
    await walk.press('Turn on the second factor');
    await walk.see('is wrong');
    await walk.look('factor-code-rejected');
    await walk.fill('Confirm the second factor', { 'Code that the app shows': this.code() });
    await walk.press('Turn on the second factor');
    await walk.see('Your backup codes');
    this.backupCodes = await walk.page.locator('.codes li').allTextContents();
    await walk.look('backup-codes');
    await walk.follow('I have saved them');
    await walk.see('10 backup codes are left');
    await walk.signOut();
  }

  /** Signs in an app, and then a web editor, in a browser that is already signed in. */
  async signInApps(): Promise<void> {
    const { walk, email } = this;
    await walk.open(DESKTOP);
    await walk.look('handoff-sign-in');
    await walk.signIn(email);
    await walk.see('Your password is right.');
    await walk.look('handoff-code');
    await this.enterCode();
    await walk.see('You are signed in');
    await walk.look('handoff-open-app');

    await walk.goToNewTab();
    await walk.open(WEB);
    await walk.see('Continue as');
    await walk.look('handoff-continue');
    await walk.unfold('Use another account');
    await walk.signIn(email, 'not the password');
    await walk.see('is wrong');
    await walk.look('handoff-rejected');
    const arrived = walk.page.waitForRequest((request) => request.url().startsWith(`${EDITOR}?token=`));
    await walk.press('Continue as Ada Lovelace');
    await arrived;
  }

  /** Creates the data that the apps store. */
  async useApps(): Promise<void> {
    const { stage, walk } = this;
    // Signs in directly, because dev-login refuses accounts with a second factor.
    const users = stage.service.app.get(Users, { strict: false });
    const { id } = (await users.findByEmail(this.email))!;
    const token = await users.signIn(id, { ip: '127.0.0.1', userAgent: 'Cloud Sync for Linux' });
    const user = TestUser.of(stage.service.url, this.email, token);
    const notes = await user.workspace('Notes');
    await user.workspace('Old drafts');
    await user.post('/api/v1/devices').send({ name: 'Ada’s laptop', platform: 'linux' }).expect(201);
    await user.post('/api/v1/devices').send({ name: 'Pocket', platform: 'android' }).expect(201);
    await user
      .post('/api/v1/auth/tokens')
      .send({ name: 'Nightly backup', scopes: ['documents:read', 'assets:read'], workspaceId: notes.id })
      .expect(201);
    await user
      .post('/api/assets')
      .set('X-Workspace-Id', notes.id)
      .send({ encryptedFilename: 'cGhvdG8', data: Buffer.alloc(2 * 1024 * 1024).toString('base64') })
      .expect(201);
    await walk.open('/account');
    await walk.see('Nightly backup');
    await walk.look('account');
    await walk.press('Billing');
    await walk.see('Your billing page is ready');
    await walk.look('billing');
    await walk.follow('Back to your account');
    await walk.signOut();
  }

  /** Signs in without the phone, and uses another backup code to create new ones. */
  async losePhone(): Promise<void> {
    const { walk } = this;
    await walk.signIn(this.email);
    await walk.unfold('Use a backup code');
    await walk.look('backup-code');
    await walk.fill('Enter a backup code', { 'Backup code': this.backupCodes[3]! });
    await walk.press('Continue', 'Enter a backup code');
    await walk.see('9 backup codes are left');
    await walk.unfold('New backup codes');
    await walk.press('Make new codes');
    await walk.see('Save these ten codes now');
    await walk.look('new-backup-codes');
    await walk.follow('I have saved them');
    await walk.see('10 backup codes are left');
    await walk.signOut();
  }

  async forgetPassword(): Promise<void> {
    const { walk, email } = this;
    await walk.follow('Forgotten password?');
    await walk.see('Enter the email address');
    await walk.look('forgot');
    await walk.fill('Forgotten password', { 'Email address': email });
    await walk.press('Send the link');
    await walk.see('Check your mail');
    await walk.look('forgot-sent');
    const mail = await this.readMail('mail-reset', email, 'Choose a new password');
    await walk.open(linkIn(mail));
    await walk.see('For the account');
    await walk.look('reset');
    await walk.fill('Choose a new password', { 'New password': NEW_PASSWORD });
    await walk.press('Change the password');
    await walk.see('Your password is changed');
    await walk.look('reset-done');
    await walk.open(linkIn(mail));
    await walk.see('does not work any more');
    await walk.look('reset-used');
    this.password = NEW_PASSWORD;
    await this.signInWithCode();
  }

  async changeAddress(): Promise<void> {
    const { walk } = this;
    const [old, email] = [this.email, `ada.lovelace@${this.domain}`];
    await walk.unfold('Change address');
    await walk.fill('Change address', { 'New email address': email });
    await walk.press('Send the link');
    await walk.see('on its way to the new address');
    await walk.look('new-address-asked');
    const mail = await this.readMail('mail-new-address', email, 'Confirm your new email address');
    await walk.open(linkIn(mail));
    await walk.see('is the account yours?');
    await walk.look('new-address');
    await walk.press('Confirm the address');
    await walk.see('Your address is confirmed');
    await walk.look('new-address-done');
    await this.readMail('mail-old-address', old, 'Your email address was changed');
    this.email = email;
    await walk.follow('Go to your account');
  }

  /** Uses the link at the end of a mail about the trial. */
  async turnMailsOff(): Promise<void> {
    const { walk } = this;
    await walk.open(await this.stage.unsubscribeLink(this.email));
    await walk.see('No more mails about');
    await walk.look('unsubscribe');
    await walk.press('Turn these mails off');
    await walk.see('These mails are off');
    await walk.look('unsubscribed');
    await walk.follow('your account page');
  }

  async changePassword(): Promise<void> {
    const { walk } = this;
    await walk.unfold('Change password');
    const fields = { 'Current password': this.password, 'New password': 'password1234' };
    await walk.fill('Change password', fields);
    await walk.press('Change password');
    await walk.see('common');
    await walk.look('password-rejected');
    await walk.fill('Change password', { ...fields, 'New password': LAST_PASSWORD });
    await walk.press('Change password');
    await walk.see('Your password has been changed');
    this.password = LAST_PASSWORD;
  }

  /** A token with full access requires the password if the sign-in is more than ten minutes old. */
  async mintToken(): Promise<void> {
    const { stage, walk } = this;
    stage.service.clock.advance(11 * 60_000);
    await walk.open('/account');
    await walk.unfold('New token');
    await walk.fill('New token', { Name: 'Reading robot' });
    await walk.page.getByLabel('Everything except managing tokens').check();
    await walk.press('Create token');
    await walk.see('Needed for a token with full access');
    await walk.look('token-rejected');
    await walk.fill('New token', { 'Your password': this.password });
    await walk.press('Create token');
    await walk.see('it is not shown again');
    await walk.look('token');
    await walk.press('Revoke Reading robot');
    await walk.page.getByRole('button', { name: 'Revoke Reading robot' }).waitFor({ state: 'detached' });
  }

  /** Needs no password, because it was just given for the token. */
  async deleteWorkspace(): Promise<void> {
    const { walk } = this;
    const form = 'Delete Old drafts';
    await walk.page.getByLabel(form).first().click();
    await walk.fill(form, { 'Type its name': 'Drafts' });
    await walk.press('Delete this workspace', form);
    await walk.see('Type its name');
    await walk.look('workspace-deletion');
    await walk.fill(form, { 'Type its name': 'Old drafts' });
    await walk.press('Delete this workspace', form);
    await walk.page.getByRole('form', { name: form }).waitFor({ state: 'detached' });
    await walk.open('/account/activity');
    await walk.look('activity');
    await walk.follow('Back to the account');
  }

  /** @returns the name of the downloaded file */
  async exportAll(): Promise<string> {
    const { walk } = this;
    const downloading = walk.page.waitForEvent('download');
    await walk.press('Export everything');
    const download = await downloading;
    expect(await download.failure()).toBeNull();
    return download.suggestedFilename();
  }

  async deleteAccount(): Promise<void> {
    const { walk } = this;
    await walk.unfold('Delete my account');
    await walk.fill('Delete account', { 'Type the email address': 'ada@elsewhere.example' });
    await walk.press('Delete the account now');
    await walk.page.locator('#delete-email-fault').waitFor();
    await walk.look('deletion-rejected');
    await walk.fill('Delete account', { 'Type the email address': this.email });
    await walk.press('Delete the account now');
    await walk.see('Your account is deleted');
    await walk.look('account-deleted');
    await walk.follow('Back to the start');
  }

  private async signInWithCode(): Promise<void> {
    await this.walk.open('/account');
    await this.walk.signIn(this.email, this.password);
    await this.walk.see('Your password is right.');
    await this.enterCode();
    await this.walk.see('Plan and storage');
  }

  /** Each code works once, so the clock is advanced to the next. */
  private async enterCode(): Promise<void> {
    this.stage.service.clock.advance(STEP_MS);
    await this.walk.fill('Enter the code', { 'Code from your authenticator app': this.code() });
    await this.walk.press('Continue', 'Enter the code');
  }

  private async readMail(
    name: 'mail-verify' | 'mail-reset' | 'mail-new-address' | 'mail-old-address',
    address: string,
    subject: string,
    count?: number,
  ): Promise<ReceivedMail> {
    const mail = await this.stage.mailTo(address, subject, count);
    await this.walk.lookAtMail(name, mail.html);
    return mail;
  }
}
