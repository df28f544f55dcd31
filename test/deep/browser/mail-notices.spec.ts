import { UnsubscribeLinks } from '../../../src/domain/accounts/notices/index.js';
import { outline } from '../../kit/browser.js';
import { describeMailPages, PASSWORD } from '../../kit/mail-pages.js';

describeMailPages((mails) => {
  it('a kind of mail is turned off by its link, with the keyboard', async () => {
    const name = `notices-${mails.people}`;
    const { id } = await mails.service.newcomer(name);
    const link = mails.service.app.get(UnsubscribeLinks).linkFor({ userId: id, notice: 'payment-failed' });
    await mails.page.goto(link);
    await mails.heading('Turn off mails');
    await mails.check();
    const off = mails.page.getByRole('button', { name: 'Turn these mails off' });
    for (let presses = 0; presses < 20; presses++) {
      await mails.page.keyboard.press('Tab');
      if (await off.evaluate((button) => button === document.activeElement)) break;
    }
    expect(await outline(mails.page)).toBe('3px');
    await mails.page.keyboard.press('Enter');
    await mails.heading('These mails are off');
    await mails.check();
    await mails.page.goto(`${mails.service.url}/account/unsubscribe?token=cut.off`);
    await mails.heading('This link does not work');
    await mails.check();
  });

  it('mails are chosen on the account page', async () => {
    await mails.signUp();
    await mails.service.database.query('UPDATE users SET email_verified = true WHERE email = $1', [
      mails.email,
    ]);
    await mails.page.goto('/account');
    await mails.page.getByLabel('Email address').first().fill(mails.email);
    await mails.page.getByLabel('Password').first().fill(PASSWORD);
    await mails.page.getByRole('button', { name: 'Sign in', exact: true }).click();
    const trial = mails.page.getByLabel('a trial that ends in three days');
    expect(await trial.isChecked()).toBe(true);
    await trial.focus();
    await mails.page.keyboard.press('Space');
    await mails.page.keyboard.press('Enter');
    await mails.page.getByText('Your choice of mails has been saved.').waitFor();
    expect(await trial.isChecked()).toBe(false);
    expect(await mails.page.getByLabel('a payment that failed').isChecked()).toBe(true);
    await mails.check();
    await trial.check();
    await mails.page.getByRole('button', { name: 'Save the choice' }).click();
    await mails.page.getByText('Your choice of mails has been saved.').waitFor();
    expect(await trial.isChecked()).toBe(true);
  });
});
