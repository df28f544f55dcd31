import { describeTours, MANY_PAGES_MS, tourOfPerson } from '../../kit/tour/tours.js';

describeTours((stage) => {
  describe('without script', () => {
    const person = (): Promise<void> => tourOfPerson(stage(), false, 'example.net');
    it('of a person, from the invitation to the deletion of the account', person, MANY_PAGES_MS);
  });
});
