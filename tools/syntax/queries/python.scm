(class_definition name: (identifier) @name) @class
(function_definition name: (identifier) @name) @function
(module (expression_statement (assignment left: (identifier) @name) @variable))
(module (type_alias_statement left: (type (identifier) @name)) @type)
(module (expression_statement (assignment left: (pattern_list (identifier) @name)) @variable))
(class_definition body: (block (expression_statement (assignment left: (identifier) @name) @field)))
((call function: (identifier) @unused arguments: (argument_list . (_) @object . (string (string_content) @name))) @property (#eq? @unused "setattr"))
(module (expression_statement (assignment right: (assignment left: (identifier) @name) @variable)))
(module (expression_statement (assignment left: (tuple_pattern (identifier) @name)) @variable))
(module (expression_statement (assignment left: (attribute object: (_) @object attribute: (identifier) @name)) @property))
(module (_ (block (expression_statement (assignment left: (identifier) @name) @variable))))
(module (_ (_ (block (expression_statement (assignment left: (identifier) @name) @variable)))))
((assignment left: (attribute object: (identifier) @unused attribute: (identifier) @name @asked)) @field (#eq? @unused "self"))
