import { eventually } from '../../kit/index.js';
import { describeMailPages, PASSWORD } from '../../kit/mail-pages.js';

const NEW_PASSWORD = 'another battery staple';

describeMailPages((mails) => {
  it('an address is confirmed, a password replaced and an address changed', async () => {
    await mails.signUp();
    await mails.check();
    await mails.page.getByRole('button', { name: 'Send another mail' }).click();
    await mails.page.getByText('another mail is on its way').waitFor();
    await mails.check();
    await eventually(() => expect(mails.smtp.to(mails.email)).toHaveLength(2));

    const confirm = await mails.linkIn(mails.email, 'Confirm your email address');
    await mails.page.goto(confirm);
    await mails.heading('Confirm your address');
    expect(mails.page.url()).toBe(`${mails.service.url}/account/verify`);
    await mails.check();
    await mails.page.getByLabel('Password of the account').fill(PASSWORD);
    await mails.page.getByRole('button', { name: 'Confirm the address' }).click();
    await mails.heading('Your address is confirmed');
    await mails.check();
    await mails.page.goto(confirm);
    await mails.heading('This link does not work any more');
    await mails.check();

    await mails.page.goto('/account/forgot');
    await mails.check();
    await mails.page.getByLabel('Email address').fill(mails.email);
    await mails.page.keyboard.press('Enter');
    await mails.heading('Check your mail');
    await mails.check();
    const reset = await mails.linkIn(mails.email, 'Choose a new password');
    await mails.page.goto(reset);
    await mails.heading('Choose a new password');
    expect(mails.page.url()).toBe(`${mails.service.url}/account/reset`);
    await mails.check();
    await mails.page.getByLabel('New password', { exact: true }).fill('short');
    await mails.page.keyboard.press('Enter');
    await mails.page.getByText('at least 10 characters').last().waitFor();
    await mails.check();
    await mails.page.getByLabel('New password', { exact: true }).fill(NEW_PASSWORD);
    await mails.page.keyboard.press('Enter');
    await mails.heading('Your password is changed');
    await mails.check();
    await mails.page.goto(reset);
    await mails.heading('This link does not work any more');
    await mails.check();

    await mails.page.goto('/account');
    await mails.page.getByLabel('Email address').first().fill(mails.email);
    await mails.page.getByLabel('Password').first().fill(NEW_PASSWORD);
    await mails.page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await mails.page.getByText('Change address').click();
    await mails.page.getByLabel('New email address').fill(`new-${mails.email}`);
    await mails.page.keyboard.press('Enter');
    await mails.page.getByText('is on its way to the new address').waitFor();
    await mails.page.goto(await mails.linkIn(`new-${mails.email}`, 'Confirm your new email address'));
    await mails.heading('Confirm your address');
    await mails.check();
    await mails.page.getByRole('button', { name: 'Confirm the address' }).click();
    await mails.heading('Your address is confirmed');
  });
});
