import { describeWithBrowser } from '../../kit/browser.js';
import { OperatorTour } from '../../kit/tour/operator.js';
import { OPERATOR, PASSKEYS, PERSON, SINGLE_SIGN_ON, VISITOR } from '../../kit/tour/page-list.js';
import { usePasskeys } from '../../kit/tour/passkeys.js';
import { PersonTour } from '../../kit/tour/person.js';
import { signInThroughProvider } from '../../kit/tour/single-sign-on.js';
import { Stage } from '../../kit/tour/stage.js';
import { VisitorTour } from '../../kit/tour/visitor.js';

/** A limit for hangs on a slow machine: forty pages, each checked four times. */
const MANY_PAGES_MS = 900_000;

/**
 * The tours of users through the service in one browser, with a mail server. Every page is checked;
 * scripts/screenshots.mjs runs this for the pictures of docs/guide/tour.md.
 */
describeWithBrowser('the tour', () => {
  let stage: Stage;
  beforeAll(async () => void (stage = await Stage.start()));
  afterAll(() => stage.close());

  describe.each([
    ['with script', true, 'example.org'],
    ['without script', false, 'example.net'],
  ] as const)('%s', (_, hasScript, domain) => {
    const person = async (): Promise<void> => {
      const administrator = new OperatorTour(stage, await stage.walk(), `person.${domain}`);
      await administrator.becomeAdministrator();
      const link = await administrator.invite(`grace@${domain}`);

      const walk = await stage.walk(hasScript);
      const tour = new PersonTour(stage, walk, domain);
      await tour.acceptInvitation(link);
      await tour.signUp();
      await tour.setUpFactor();
      await tour.signInApps();
      await tour.useApps();
      await tour.losePhone();
      await tour.forgetPassword();
      await tour.changeAddress();
      await tour.turnMailsOff();
      await tour.changePassword();
      await tour.mintToken();
      await tour.deleteWorkspace();
      expect(await tour.exportAll()).toMatch(/\.tar$/);
      await tour.deleteAccount();
      expect([...new Set(walk.seen)].sort()).toEqual(Object.keys(PERSON).sort());
    };
    it('of a person, from the invitation to the deletion of the account', person, MANY_PAGES_MS);

    it('of an operator', async () => {
      const [walk, other] = [await stage.walk(hasScript), await stage.walk(hasScript)];
      const operator = new OperatorTour(stage, walk, domain);
      await operator.becomeAdministrator();
      await operator.find();
      await operator.suspendAndResume(other);
      await operator.deleteAccount();
      await operator.lookAtInvitations();
      await operator.readAudit();
      await operator.operate();
      expect([...new Set([...walk.seen, ...other.seen])].sort()).toEqual(Object.keys(OPERATOR).sort());
    });
  });

  it('of a user with passkeys', async () => {
    const walk = await stage.walk();
    await usePasskeys(stage, walk);
    expect([...walk.seen].sort()).toEqual(Object.keys(PASSKEYS).sort());
  });

  const visitor = async (): Promise<void> => {
    const walk = await stage.walk();
    const tour = new VisitorTour(stage, walk);
    await tour.readPublicPages();
    await tour.meetErrors();
    const narrow = await Stage.start({ requestsPerMinute: 60 });
    const hasty = await narrow.walk();
    await new VisitorTour(narrow, hasty).askTooOften();
    await narrow.close();
    expect([...walk.seen, ...hasty.seen].sort()).toEqual(Object.keys(VISITOR).sort());
  };
  it('of a visitor without an account, who meets every error', visitor, MANY_PAGES_MS);

  it('through single sign-on', async () => {
    const closed = await Stage.start({ hasSingleSignOn: true });
    const walk = await closed.walk();
    await signInThroughProvider(closed, walk);
    await closed.close();
    expect([...walk.seen].sort()).toEqual(Object.keys(SINGLE_SIGN_ON).sort());
  });
});
