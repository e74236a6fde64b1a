/** A webpack loader that gives the code of its option `code` in the place of a module's own. */
module.exports = function givenCode() {
  return this.getOptions().code;
};
