import { OperatorTour } from '../../kit/tour/operator.js';
import { OPERATOR } from '../../kit/tour/page-list.js';
import { describeTours } from '../../kit/tour/tours.js';

describeTours((stage) => {
  describe.each([
    ['with script', true, 'example.org'],
    ['without script', false, 'example.net'],
  ] as const)('%s', (_, hasScript, domain) => {
    it('of an operator', async () => {
      const [walk, other] = [await stage().walk(hasScript), await stage().walk(hasScript)];
      const operator = new OperatorTour(stage(), walk, domain);
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
});
