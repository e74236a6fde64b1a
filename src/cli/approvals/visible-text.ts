export { visibleExcerpt, visibleText } from '../../approvals/visible-text.ts';
